"""The wrapper of a cloud, which passes each call through a hook, and the hook that measures."""

from functools import partial

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds, Timing
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from placement_worker.errors import ServiceFailed
from placement_worker.events.types import CloudCalled
from tests.events import Events, SteppingClock
from tests.unit.cloud.fake_services import TOKENS, respond
from tests.unit.cloud.intercepted.test_recording import MEMBER, octavia_calls

CLOUD = Inventory.parse({'zones': {'a': True}, 'regions': ['R1']}, 'test')
LB = 'load-balancer'
KINDS = ('loadbalancer', 'pool')
ACTING = CloudCalled('identity', 'acting_for', 'OK', 1.0)


class Calls:
    """Hook that keeps each call with the response that it sees."""

    def __init__(self):
        self.seen = []

    def __call__(self, call, make):
        answer = make()
        self.seen.append((call.service, call.operation, call.method, list(call.arguments), answer))
        return answer


@pytest.fixture
def calls():
    return Calls()


@pytest.mark.parametrize(
    ('call', 'service', 'method', 'arguments', 'response'),
    [
        (lambda cloud: cloud.home_region, None, 'home_region', [], None),
        (lambda cloud: cloud.load_balancer_region, None, 'load_balancer_region', [], 'R1'),
        (lambda cloud: cloud.zones('R1'), 'compute', 'zones', ['R1'], {'a': True}),
        (lambda cloud: cloud.regions(), 'identity', 'regions', [], frozenset({'R1'})),
        (lambda cloud: cloud.servers(None, ['s1']), 'compute', 'servers', [None, ['s1']], {}),
        (lambda cloud: cloud.subnet(None, 'sub'), 'network', 'subnet', [None, 'sub'], None),
        (lambda cloud: cloud.network(None, 'net'), 'network', 'network', [None, 'net'], None),
    ],
)
def test_call_to_a_cloud_passes_through_the_hook(calls, call, service, method, arguments, response):
    """The hook sees the call and its response, but neither credentials nor an opened cloud."""
    clouds = InterceptedClouds(CLOUD, calls)

    assert call(clouds.acting_for(Credentials('trust-1'), 'p1')) == call(CLOUD)
    assert call(clouds.acting_as_service()) == call(CLOUD)
    seen = (service, method, method, arguments, response)
    assert calls.seen == [('identity', 'acting_for', 'acting_for', ['p1'], None), seen, seen]


def test_calls_to_octavia_pass_through_the_hook_with_region_and_kind(calls):
    """The arguments of a call to Octavia begin with its region; the operation names the kind."""
    answers = octavia_calls(InterceptedClouds(CLOUD, calls).acting_as_service())
    lb, pool, member, *_ = answers

    opened, *others = calls.seen
    assert opened == (None, 'octavia', 'octavia', ['R1'], None)
    assert {service for service, *_ in others} == {LB}
    assert [method for _, _, method, _, _ in others] == [
        f'octavia.{operation.partition("_")[0] if arguments[1] in KINDS else operation}'
        for _, operation, _, arguments, _ in others
    ]
    assert [answer for *_, answer in others] == answers
    assert [(operation, arguments) for _, operation, _, arguments, _ in others] == [
        ('create_loadbalancer', ['R1', 'loadbalancer', {'name': 'lb'}]),
        ('create_pool', ['R1', 'pool', {'loadbalancer_id': lb['id'], 'protocol': 'HTTP'}]),
        ('create_member', ['R1', pool['id'], MEMBER]),
        ('show_loadbalancer', ['R1', 'loadbalancer', lb['id']]),
        ('find_pool', ['R1', 'pool', {'loadbalancer_id': lb['id']}]),
        ('members', ['R1', pool['id']]),
        ('update_members', ['R1', pool['id'], [MEMBER], True]),
        ('delete_member', ['R1', pool['id'], member['id']]),
        ('delete_loadbalancer', ['R1', 'loadbalancer', lb['id'], True]),
    ]


@pytest.fixture
def events():
    return Events()


def timed(clouds, events):
    return InterceptedClouds(clouds, Timing(events, SteppingClock()))


def test_calls_that_need_a_request_are_reported_with_outcome_and_duration(events):
    """A call to a service is reported; regions that the session knows are no calls."""
    cloud = timed(CLOUD, events).acting_for(Credentials(), 'p1')

    assert cloud.zones('R1') == {'a': True}
    assert (cloud.home_region, cloud.load_balancer_region) == (None, 'R1')
    assert cloud.octavia(None).find('pool') == []

    assert events.received == [
        ACTING,
        CloudCalled('compute', 'zones', 'OK', 1.0),
        CloudCalled(LB, 'find_pool', 'OK', 1.0),
    ]


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


@pytest.mark.parametrize(('status', 'outcome'), [(503, '503'), (0, 'none')])
def test_failed_call_to_octavia_is_reported_with_its_http_status(events, status, outcome):
    """The outcome of a failed request to Octavia is its HTTP status, or `none` without one."""
    faults = [{'call': 'find', 'status': status}]
    cloud = Inventory.parse({'load_balancer': {'fail': faults}}, 'test')

    with pytest.raises(ApiError):
        timed(cloud, events).acting_as_service().octavia(None).find('pool')

    assert events.received == [CloudCalled(LB, 'find_pool', outcome, 1.0)]
