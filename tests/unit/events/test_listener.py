"""What observers hear of checks, bindings and calls to the cloud."""

import itertools
import math

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted import interceptor
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from placement_worker.errors import CloudUnavailable, InvalidRequest
from placement_worker.events.listener import Nobody
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.octavia.updater import Driver, Driving
from tests.factories import deletion_policy, node, region_policy, request, zone_policy

CLOUD = Inventory.parse(
    {
        'zones': {'a': True, 'b': True},
        'regions': ['R1'],
        'networks': {'private': {'id': 'net1'}},
        'subnets': {
            'private-subnet': {
                'id': 'sub1',
                'network': 'private',
                'ip_version': 4,
                'cidr': '10.0.0.0/24',
            }
        },
    },
    'test',
)
ACTING = ('identity', 'acting_for', 'OK', 1.0)
ZONES, DELETION = 'senlin.policy.zone_placement-1.0', 'senlin.policy.deletion-1.1'


class Recorder(Nobody):
    """Keeps what it hears; seconds are rounded."""

    def __init__(self):
        self.heard = []

    def check_ended(self, phase, action, outcome, elapsed_s, request_id):
        self.heard.append(('check', phase, action, outcome, round(elapsed_s, 3), request_id))

    def policy_consulted(self, policy_type, outcome, elapsed_s):
        self.heard.append(('policy', policy_type, outcome, round(elapsed_s, 3)))

    def binding_ended(self, method, policy_type, outcome, elapsed_s, request_id):
        self.heard.append((method, policy_type, outcome, round(elapsed_s, 3), request_id))

    def request_failed(self, method, error):
        self.heard.append((method, error))

    def cloud_called(self, service, operation, outcome, elapsed_s):
        self.heard.append((service, operation, outcome, round(elapsed_s, 3)))

    def load_balancer_updated(self):
        self.heard.append('updated')

    def load_balancer_retried(self):
        self.heard.append('retried')

    def load_balancer_conflicted(self, waited_s):
        self.heard.append(('conflicted', round(waited_s, 3)))


class Clock:
    """Goes on by a second with each look."""

    def __init__(self):
        self.now = itertools.count()

    def __call__(self):
        return float(next(self.now))


@pytest.fixture
def observer():
    return Recorder()


@pytest.fixture
def endpoints(registry, observer):
    return Endpoints(CLOUD, registry, observer=observer, clock=Clock())


def test_of_a_check_they_hear_the_outcome_and_what_each_policy_took(endpoints, observer):
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a'), deletion_policy()], inputs={'count': 1})

    endpoints.policy_check(asked, 'req-1')

    assert observer.heard == [
        ('check', 'BEFORE', 'CLUSTER_SCALE_OUT', 'OK', 5.0, 'req-1'),
        ('policy', ZONES, 'APPLIED', 1.0),
        ('policy', DELETION, 'SKIPPED', 1.0),
    ]


def test_of_a_check_that_cannot_be_decided_they_hear_which_policy_failed(endpoints, observer):
    endpoints.policy_check(
        request('CLUSTER_SCALE_OUT', [zone_policy('nowhere')], inputs={'count': 1})
    )

    assert observer.heard == [
        ('check', 'BEFORE', 'CLUSTER_SCALE_OUT', 'ERROR', 3.0, None),
        ('policy', ZONES, 'FAILED', 1.0),
    ]


def test_of_a_check_that_came_too_late_they_hear_too(endpoints, observer):
    endpoints.policy_check(
        request('NODE_CREATE', [], node=node(1), expires_at='2020-01-01T00:00:00Z')
    )

    assert observer.heard == [('check', 'BEFORE', 'NODE_CREATE', 'ERROR', 1.0, None)]


def test_of_bindings_they_hear_the_outcome(endpoints, observer):
    cluster = request('NODE_CREATE', [])['cluster']
    other = {**cluster, 'profile': {'id': 'pr1', 'type': 'container.dockerinc.docker-1.0'}}

    endpoints.policy_attach({'cluster': cluster, 'policy': zone_policy('a')}, 'req-1')
    endpoints.policy_attach({'cluster': other, 'policy': zone_policy('a')}, 'req-2')
    endpoints.policy_detach({'cluster': cluster, 'policy': zone_policy('a')}, 'req-3')

    assert observer.heard == [
        ('policy_attach', ZONES, 'OK', 1.0, 'req-1'),
        ('policy_attach', ZONES, 'ERROR', 1.0, 'req-2'),
        ('policy_detach', ZONES, 'OK', 1.0, 'req-3'),
    ]


def test_of_requests_that_are_refused_and_of_faults_they_hear_what_the_caller_sees(
    registry, observer
):
    class Broken:
        def acting_for(self, credentials, project):
            raise RuntimeError('fault')

    endpoints = Endpoints(Broken(), registry, observer=observer)

    with pytest.raises(InvalidRequest):
        endpoints.policy_check({})
    with pytest.raises(RuntimeError):
        endpoints.policy_check(request('NODE_CREATE', [zone_policy('a')], node=node(1)))
    with pytest.raises(InvalidRequest):
        endpoints.policy_detach({})

    assert observer.heard == [
        ('policy_check', 'InvalidRequest'),
        ('policy_check', 'WorkerFailed'),
        ('policy_detach', 'InvalidRequest'),
    ]


@pytest.mark.parametrize(
    ('call', 'service', 'operation'),
    [
        (lambda cloud: cloud.zones('R1'), 'compute', 'zones'),
        (lambda cloud: cloud.servers(None, ['s1']), 'compute', 'servers'),
        (lambda cloud: cloud.regions(), 'identity', 'regions'),
        (lambda cloud: cloud.subnet(None, 'private-subnet'), 'network', 'subnet'),
        (lambda cloud: cloud.network(None, 'net1'), 'network', 'network'),
    ],
)
def test_of_each_call_to_the_cloud_they_hear_and_the_answer_is_the_clouds_own(
    observer, call, service, operation
):
    cloud = interceptor.Clouds(CLOUD, observer, Clock()).acting_for(Credentials(), 'p1')

    assert call(cloud) == call(CLOUD)
    assert observer.heard == [ACTING, (service, operation, 'OK', 1.0)]


def test_of_a_call_that_fails_they_hear_the_error_which_goes_on(observer):
    class Away:
        def regions(self):
            raise CloudUnavailable('Keystone gives no answer')

    class Clouds:
        def acting_for(self, credentials, project):
            return Away()

    cloud = interceptor.Clouds(Clouds(), observer, Clock()).acting_for(Credentials(), None)

    with pytest.raises(CloudUnavailable):
        cloud.regions()
    assert observer.heard == [ACTING, ('identity', 'regions', 'CloudUnavailable', 1.0)]


def test_a_check_asks_the_clouds_that_it_is_given(registry, observer):
    endpoints = Endpoints(interceptor.Clouds(CLOUD, observer, Clock()), registry)

    endpoints.policy_check(request('CLUSTER_SCALE_OUT', [region_policy('R1')], inputs={'count': 1}))

    assert observer.heard == [ACTING, ('identity', 'regions', 'OK', 1.0)]


def octavia(observer=None, **settings):
    """Load balancers of an embedded cloud, with one of them, and its pool, made already."""
    cloud = Inventory.parse({'load_balancer': settings}, 'test')
    api = cloud.octavia(None)
    lb = api.create('loadbalancer', {'name': 'lb'})
    pool = api.create(
        'pool', {'loadbalancer_id': lb['id'], 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}
    )
    watched = (
        interceptor.Clouds(cloud, observer or Nobody(), Clock())
        .acting_for(Credentials(), None)
        .octavia(None)
    )
    return watched, lb['id'], pool['id']


MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'subnet_id': None}


def test_of_each_call_to_octavia_they_hear(observer):
    api, lb_id, pool_id = octavia(observer)

    assert api.show('loadbalancer', lb_id)['id'] == lb_id
    assert [one['id'] for one in api.find('pool', loadbalancer_id=lb_id)] == [pool_id]
    monitor = {'pool_id': pool_id, 'type': 'PING', 'delay': 1, 'timeout': 1, 'max_retries': 1}
    assert api.create('healthmonitor', monitor)['type'] == 'PING'
    member = api.create_member(pool_id, MEMBER)
    assert [one['id'] for one in api.members(pool_id)] == [member['id']]
    api.update_members(pool_id, [MEMBER], additive_only=True)
    api.delete_member(pool_id, member['id'])
    api.delete('loadbalancer', lb_id, cascade=True)

    calls = [
        'show_loadbalancer',
        'find_pool',
        'create_healthmonitor',
        'create_member',
        'members',
        'update_members',
        'delete_member',
        'delete_loadbalancer',
    ]
    assert observer.heard == [ACTING, *(('load-balancer', call, 'OK', 1.0) for call in calls)]


@pytest.mark.parametrize(('status', 'outcome'), [(503, '503'), (0, 'none')])
def test_of_a_call_that_octavia_does_not_answer_well_they_hear_the_status(
    observer, status, outcome
):
    api, _, pool_id = octavia(observer, fail=[{'call': 'members', 'status': status}])

    with pytest.raises(ApiError):
        api.members(pool_id)

    assert observer.heard == [ACTING, ('load-balancer', 'members', outcome, 1.0)]


def driver(observer, octavia):
    return Driver(
        octavia,
        Driving(sleep=lambda seconds: None, observer=observer),
        60,
        lambda: math.inf,
        'seed',
    )


def test_of_changes_they_hear_once_each_and_of_what_is_tried_again(observer):
    api, lb_id, pool_id = octavia(fail=[{'call': 'create_member', 'status': 503, 'times': 2}])
    driven = driver(observer, api)

    driven.write(lb_id, lambda: api.create_member(pool_id, MEMBER), lambda: False)
    driven.delete_load_balancer(lb_id)

    assert observer.heard == ['retried', 'retried', 'updated', 'updated']


def test_of_a_wait_for_another_change_they_hear_how_long_it_took(observer):
    api, lb_id, pool_id = octavia(
        fail=[{'call': 'create_member', 'status': 409}, {'call': 'delete', 'status': 409}]
    )
    driven = driver(observer, api)

    driven.write(lb_id, lambda: api.create_member(pool_id, MEMBER), lambda: False)
    assert observer.heard == [('conflicted', 0.5), 'updated']
    driven.delete_load_balancer(lb_id)
    assert observer.heard[2:] == [
        ('conflicted', 0.0),
        'retried',
        'updated',
    ]  # nothing was pending any more
