"""The wrapper of a cloud, which passes each call through a hook."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.contract.model import Credentials

CLOUD = Inventory.parse({'zones': {'a': True}, 'regions': ['R1']}, 'test')


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


def acting(calls):
    return InterceptedClouds(CLOUD, calls).acting_for(Credentials('trust-1'), 'p1')


@pytest.mark.parametrize(
    ('call', 'seen'),
    [
        (lambda cloud: cloud.home_region, (None, 'home_region', 'home_region', [], None)),
        (
            lambda cloud: cloud.load_balancer_region,
            (None, 'load_balancer_region', 'load_balancer_region', [], 'R1'),
        ),
        (
            lambda cloud: cloud.zones('R1'),
            ('compute', 'zones', 'zones', ['R1'], {'a': True}),
        ),
        (
            lambda cloud: cloud.regions(),
            ('identity', 'regions', 'regions', [], frozenset({'R1'})),
        ),
        (
            lambda cloud: cloud.servers(None, ('s1',)),
            ('compute', 'servers', 'servers', [None, ['s1']], {}),
        ),
        (
            lambda cloud: cloud.subnet(None, 'sub'),
            ('network', 'subnet', 'subnet', [None, 'sub'], None),
        ),
        (
            lambda cloud: cloud.network(None, 'net'),
            ('network', 'network', 'network', [None, 'net'], None),
        ),
    ],
)
def test_call_to_a_cloud_passes_through_the_hook(calls, call, seen):
    """The hook sees service, operation, method, arguments and response of a call."""
    cloud = acting(calls)

    assert call(cloud) == call(CLOUD)
    assert calls.seen[1:] == [seen]


def test_credentials_are_hidden_from_the_hook(calls):
    """The hook sees neither credentials nor the cloud that they open."""
    acting(calls)

    assert calls.seen == [('identity', 'acting_for', 'acting_for', ['p1'], None)]


def test_cloud_of_the_service_passes_its_calls_through_the_hook(calls):
    """The calls of a cloud that acts as the service pass through the hook too."""
    InterceptedClouds(CLOUD, calls).acting_as_service().zones(None)

    assert calls.seen == [('compute', 'zones', 'zones', [None], {'a': True})]


def test_calls_to_octavia_pass_through_the_hook_with_region_and_kind(calls):
    """The arguments of a call to Octavia begin with its region; the operation names the kind."""
    api = acting(calls).octavia('R1')
    lb = api.create('loadbalancer', {'name': 'lb'})
    api.delete('loadbalancer', lb['id'], cascade=True)

    assert calls.seen[1:] == [
        (None, 'octavia', 'octavia', ['R1'], None),
        (
            'load-balancer',
            'create_loadbalancer',
            'octavia.create',
            ['R1', 'loadbalancer', {'name': 'lb'}],
            lb,
        ),
        (
            'load-balancer',
            'delete_loadbalancer',
            'octavia.delete',
            ['R1', 'loadbalancer', lb['id'], True],
            None,
        ),
    ]
