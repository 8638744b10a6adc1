"""Requests over places that are short of capacity, and the parts of their replies."""

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import NOW, request

UNTIL = 'short of capacity until 2026-01-01T12:04:00Z'
CLOUD = {
    'zones': dict.fromkeys('abc', True),
    'regions': {'R1': {}, 'R2': {'zones': {'a': True, 'd': True}}},
    'home_region': 'R1',
}


def decide(asked):
    """Return the reply at the time NOW."""
    inventory = Inventory.parse(CLOUD, 'test')
    return Endpoints(inventory, Registry.installed(), now=lambda: NOW).policy_check(asked)


def scale_out(count, *policies, members, **more):
    """Return a scale-out."""
    return request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': count}, **more)


def created(reply, by='zones'):
    """Return a key of the creation of a reply, which must be OK."""
    assert reply['action']['data']['status'] == 'OK', reply['action']['data']['reason']
    return reply['action']['data']['creation'][by]


def rows(reply, by='zones'):
    """Return the rows of the first decision by name of the place."""
    return {row['name']: row for row in reply['decisions'][0]['details'][by]}
