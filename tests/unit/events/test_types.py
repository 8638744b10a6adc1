"""The events that requests and load balancer operations report."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.errors import InvalidRequest
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    Listeners,
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
    PolicyConsulted,
    RequestFailed,
)
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.octavia.updater import Updater, Write
from tests.events import Events, SteppingClock
from tests.factories import deletion_policy, node, request, zone_policy

CLOUD = Inventory.parse({'zones': {'a': True, 'b': True}}, 'test')
ZONES, DELETION = 'senlin.policy.zone_placement-1.0', 'senlin.policy.deletion-1.1'
MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'subnet_id': None}


@pytest.fixture
def events():
    return Events()


@pytest.fixture
def endpoints(registry, events):
    return Endpoints(CLOUD, registry, WorkerSettings(events=events, clock=SteppingClock()))


class Broken:
    """Listener that fails."""

    def handle(self, event):
        raise KeyError('disk full')


def outcome(ended):
    """Return phase, action, status, duration and request id of a check."""
    request, reply = ended.request, ended.reply
    status = reply.action.data['status']
    return request.target, request.action.action, status, ended.elapsed_s, ended.request_id


def test_check_reports_start_policies_and_end_in_order(endpoints, events):
    """A check reports its start, each policy with its outcome and duration, and its end."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a'), deletion_policy()], inputs={'count': 1})

    endpoints.policy_check(asked, 'req-1')

    started, *policies, ended = events.received
    assert isinstance(started, CheckStarted)
    assert (started.request, started.request_id) == (ended.request, 'req-1')
    assert policies == [
        PolicyConsulted(ZONES, 'APPLIED', 1.0),
        PolicyConsulted(DELETION, 'SKIPPED', 1.0),
    ]
    assert outcome(ended) == ('BEFORE', 'CLUSTER_SCALE_OUT', 'OK', 5.0, 'req-1')


def test_check_with_a_failing_policy_reports_the_policy_as_failed(endpoints, events):
    """A check that ends in ERROR reports the policy that failed."""
    endpoints.policy_check(
        request('CLUSTER_SCALE_OUT', [zone_policy('nowhere')], inputs={'count': 1})
    )

    assert events.of(PolicyConsulted) == [PolicyConsulted(ZONES, 'FAILED', 1.0)]
    (ended,) = events.of(CheckEnded)
    assert outcome(ended) == ('BEFORE', 'CLUSTER_SCALE_OUT', 'ERROR', 3.0, None)


def test_bindings_report_start_and_end(endpoints, events):
    """Attaching and detaching a policy each report a start, and an end with the outcome."""
    cluster = request('NODE_CREATE', [])['cluster']
    other = {**cluster, 'profile': {'id': 'pr1', 'type': 'container.dockerinc.docker-1.0'}}

    endpoints.policy_attach({'cluster': cluster, 'policy': zone_policy('a')}, 'req-1')
    endpoints.policy_attach({'cluster': other, 'policy': zone_policy('a')}, 'req-2')
    endpoints.policy_detach({'cluster': cluster, 'policy': zone_policy('a')}, 'req-3')

    assert [type(event) for event in events.received] == [BindingStarted, BindingEnded] * 3
    ended = events.of(BindingEnded)
    named = [(event.method, event.request_id) for event in ended]
    assert named == [(event.method, event.request_id) for event in events.of(BindingStarted)]
    assert named == [
        ('policy_attach', 'req-1'),
        ('policy_attach', 'req-2'),
        ('policy_detach', 'req-3'),
    ]
    assert [event.reply.status for event in ended] == ['OK', 'ERROR', 'OK']
    assert {(event.policy_type, event.elapsed_s) for event in ended} == {(ZONES, 1.0)}


def test_requests_that_end_with_an_error_report_the_error(registry, events):
    """Refused requests and internal errors are reported with method, error and request id."""

    class Cloud:
        def acting_for(self, credentials, project):
            raise RuntimeError('fault')

    endpoints = Endpoints(Cloud(), registry, WorkerSettings(events=events))

    with pytest.raises(InvalidRequest):
        endpoints.policy_check({}, 'req-1')
    with pytest.raises(RuntimeError):
        endpoints.policy_check(request('NODE_CREATE', [zone_policy('a')], node=node(1)), 'req-2')
    with pytest.raises(InvalidRequest):
        endpoints.policy_detach({})

    assert [
        (event.method, type(event.error), event.request_id) for event in events.of(RequestFailed)
    ] == [
        ('policy_check', InvalidRequest, 'req-1'),
        ('policy_check', RuntimeError, 'req-2'),
        ('policy_detach', InvalidRequest, None),
    ]


def octavia(**settings):
    """Return an embedded Octavia, the id of its load balancer, and the id of that one's pool."""
    api = Inventory.parse({'load_balancer': settings}, 'test').octavia(None)
    lb = api.create('loadbalancer', {'name': 'lb'})
    pool = api.create(
        'pool', {'loadbalancer_id': lb['id'], 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}
    )
    return api, lb['id'], pool['id']


def updater(events, api):
    settings = OctaviaSettings(sleep=lambda seconds: None, events=events)
    return Updater(api, settings, TimeBudget(60, settings.clock), 'seed')


def adding(api, pool_id):
    """Return the change that adds a member."""
    return Write(lambda: api.create_member(pool_id, MEMBER), lambda: False)


def test_load_balancer_operations_report_updates_and_retries(events):
    """Each change is reported once, each retry before it."""
    api, lb_id, pool_id = octavia(fail=[{'call': 'create_member', 'status': 503, 'times': 2}])
    updating = updater(events, api)

    updating.update(lb_id, adding(api, pool_id))
    updating.delete_load_balancer(lb_id)

    assert events.received == [LoadBalancerRetried()] * 2 + [LoadBalancerUpdated()] * 2


def test_load_balancer_conflict_reports_the_wait_for_the_other_change(events):
    """A refused change (409) is reported with the time waited for the pending one."""
    api, lb_id, pool_id = octavia(
        fail=[{'call': 'create_member', 'status': 409}, {'call': 'delete', 'status': 409}]
    )
    updating = updater(events, api)

    updating.update(lb_id, adding(api, pool_id))
    assert events.received == [LoadBalancerConflicted(0.5), LoadBalancerUpdated()]

    updating.delete_load_balancer(lb_id)
    assert events.received[2:] == [
        LoadBalancerConflicted(0.0),  # nothing was pending any more
        LoadBalancerRetried(),
        LoadBalancerUpdated(),
    ]


EVENT = LoadBalancerUpdated()


def test_listeners_with_a_failing_listener_log_it_and_go_on(caplog):
    """A listener that raises disturbs neither the request nor the other listeners."""
    events = Events()

    Listeners(Broken(), events).handle(EVENT)

    assert events.received == [EVENT]
    assert caplog.messages == ['Listener Broken failed to handle the event LoadBalancerUpdated']
    assert 'disk full' in caplog.text


@pytest.mark.parametrize(
    ('listeners', 'expected'), [(Listeners(), False), (Listeners(Events()), True)]
)
def test_listeners_are_true_if_there_are_any(listeners, expected):
    """An empty composite is false, so that a reporter can omit work for it."""
    assert bool(listeners) is expected
