"""The measurement of calls to a cloud."""

from functools import partial

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.cloud.intercepted.timing import Timing
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from placement_worker.errors import CloudUnavailable, ServiceFailed
from placement_worker.events.types import CloudCalled
from placement_worker.handlers.endpoints import Endpoints
from tests.events import Events, SteppingClock
from tests.factories import region_policy, request
from tests.unit.cloud.fake_services import TOKENS, TRUST, ZONES, respond

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
ACTING = CloudCalled('identity', 'acting_for', 'OK', 1.0)
MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'subnet_id': None}


@pytest.fixture
def events():
    return Events()


def timed(clouds, events):
    return InterceptedClouds(clouds, Timing(events, SteppingClock()))


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
def test_call_to_a_service_is_reported_and_returns_the_answer(events, call, service, operation):
    """Each call reports service, operation, outcome and duration, and keeps its response."""
    cloud = timed(CLOUD, events).acting_for(Credentials(), 'p1')

    assert call(cloud) == call(CLOUD)
    assert events.received == [ACTING, CloudCalled(service, operation, 'OK', 1.0)]


def test_call_that_needs_no_request_is_not_reported(events):
    """Regions that the configuration or the session knows are no calls."""
    cloud = timed(CLOUD, events).acting_for(Credentials(), 'p1')

    assert (cloud.home_region, cloud.load_balancer_region) == (None, 'R1')
    cloud.octavia(None)

    assert events.received == [ACTING]


def test_call_that_fails_is_reported_with_its_error_which_is_raised(events):
    """A failed call reports the class of its error, and the caller gets the error."""

    class Away:
        def regions(self):
            raise CloudUnavailable('Keystone does not respond')

    class Unreachable:
        def acting_for(self, credentials, project):
            return Away()

    cloud = timed(Unreachable(), events).acting_for(Credentials(), None)

    with pytest.raises(CloudUnavailable):
        cloud.regions()
    assert events.received == [ACTING, CloudCalled('identity', 'regions', 'CloudUnavailable', 1.0)]


@pytest.mark.parametrize('call', ['zones', 'network', 'octavia', 'find'])
def test_call_that_gets_no_token_is_reported_as_a_failure_of_keystone(
    events, make_clouds, services, call
):
    """The metric names the service that failed, not the one that got no request."""
    services.lifetime_s = 1  # each request needs a new token
    clouds = timed(make_clouds(max_attempts=1, allow_service_credentials=True), events)
    cloud = clouds.acting_for(Credentials(), None)
    calls = {
        'zones': lambda: cloud.zones('RegionOne'),
        'network': lambda: cloud.network('RegionOne', 'private'),
        'octavia': lambda: cloud.octavia('RegionOne'),
        'find': partial(cloud.octavia('RegionOne').find, 'pool'),
    }
    services.fail(TOKENS, respond(503))

    with pytest.raises((ServiceFailed, ApiError), match='Identity service unavailable'):
        calls[call]()

    assert events.received == [ACTING, CloudCalled('identity', 'acting_for', 'ServiceFailed', 1.0)]


def test_call_that_fails_in_its_own_service_keeps_the_service_and_the_operation(
    events, make_clouds, services
):
    """An outage of Nova is not counted as one of Keystone."""
    cloud = timed(make_clouds(max_attempts=1), events).acting_for(TRUST, 'project-a')
    services.fail(ZONES, respond(503))

    with pytest.raises(ServiceFailed):
        cloud.zones('RegionOne')

    assert events.received == [ACTING, CloudCalled('compute', 'zones', 'ServiceFailed', 1.0)]


def test_check_over_timed_clouds_reports_its_calls(registry, events):
    """A check calls the clouds that it is given."""
    endpoints = Endpoints(timed(CLOUD, events), registry)

    endpoints.policy_check(request('CLUSTER_SCALE_OUT', [region_policy('R1')], inputs={'count': 1}))

    assert events.received == [ACTING, CloudCalled('identity', 'regions', 'OK', 1.0)]


def octavia(events, **settings):
    """Return a timed Octavia, the id of its load balancer, and the id of that one's pool."""
    cloud = Inventory.parse({'load_balancer': settings}, 'test')
    api = cloud.octavia(None)
    lb = api.create('loadbalancer', {'name': 'lb'})
    pool = api.create(
        'pool', {'loadbalancer_id': lb['id'], 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}
    )
    watched = timed(cloud, events).acting_for(Credentials(), None).octavia(None)
    return watched, lb['id'], pool['id']


def test_calls_to_octavia_are_reported_with_the_kind_of_object(events):
    """Each request to Octavia is a call, whose operation names the kind of object."""
    api, lb_id, pool_id = octavia(events)

    assert api.show('loadbalancer', lb_id)['id'] == lb_id
    assert [one['id'] for one in api.find('pool', loadbalancer_id=lb_id)] == [pool_id]
    monitor = {'pool_id': pool_id, 'type': 'PING', 'delay': 1, 'timeout': 1, 'max_retries': 1}
    assert api.create('healthmonitor', monitor)['type'] == 'PING'
    member = api.create_member(pool_id, MEMBER)
    assert [one['id'] for one in api.members(pool_id)] == [member['id']]
    api.update_members(pool_id, [MEMBER], additive_only=True)
    api.delete_member(pool_id, member['id'])
    api.delete('loadbalancer', lb_id, cascade=True)

    operations = [
        'show_loadbalancer',
        'find_pool',
        'create_healthmonitor',
        'create_member',
        'members',
        'update_members',
        'delete_member',
        'delete_loadbalancer',
    ]
    assert events.received == [
        ACTING,
        *(CloudCalled('load-balancer', operation, 'OK', 1.0) for operation in operations),
    ]


@pytest.mark.parametrize(('status', 'outcome'), [(503, '503'), (0, 'none')])
def test_failed_call_to_octavia_is_reported_with_its_http_status(events, status, outcome):
    """The outcome of a failed request to Octavia is its HTTP status, or `none` without one."""
    api, _, pool_id = octavia(events, fail=[{'call': 'members', 'status': status}])

    with pytest.raises(ApiError):
        api.members(pool_id)

    assert events.received == [ACTING, CloudCalled('load-balancer', 'members', outcome, 1.0)]
