"""The events that requests report; those of load balancers are in tests of the updater."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import InvalidRequest
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    Listeners,
    LoadBalancerUpdated,
    PolicyConsulted,
    RequestFailed,
    RequestStarted,
)
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests.events import Events, SteppingClock
from tests.factories import deletion_policy, node, request, zone_policy

CLOUD = Inventory.parse({'zones': {'a': True, 'b': True}}, 'test')
ZONES, DELETION = 'senlin.policy.zone_placement-1.0', 'senlin.policy.deletion-1.1'


@pytest.fixture
def events():
    return Events()


@pytest.fixture
def endpoints(registry, events):
    return Endpoints(CLOUD, registry, WorkerSettings(events=events, clock=SteppingClock()))


class Broken:
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
    assert isinstance(started, RequestStarted)
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

    assert [type(event) for event in events.received] == [RequestStarted, BindingEnded] * 3
    ended = events.of(BindingEnded)
    named = [(event.method, event.request_id) for event in ended]
    assert named == [(event.method, event.request_id) for event in events.of(RequestStarted)]
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
