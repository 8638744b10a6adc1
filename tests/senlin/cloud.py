"""Stands in for Keystone, Nova and load balancers where Senlin asks for them.

Completes Senlin's own stand-in (`cloud_backend = openstack_test`), which has one server and no zones. Everything else
of Senlin is real: its `os.nova.server-1.0` creates and deletes servers here. What stands in the folder that the
environment variable names is seen by all processes. An entry point in `senlin.endpoints` has it imported.
"""

import itertools
import json
import os
import uuid
from pathlib import Path

from senlin.drivers.sdk import FakeResourceObject
from senlin.tests.drivers import os_test

FOLDER = 'TEST_CLOUD'
LOAD_BALANCERS = 'load-balancers.json'
ZONES = {'az1': True, 'az2': True, 'az3': True, 'down': False}
REGIONS = ['RegionOne', 'RegionTwo']
SERVERS = [str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))) for number in range(500)]
"""The ids that servers get, in this order, so that the worker's embedded cloud can know them."""


def address(server_id):
    block, host = divmod(SERVERS.index(server_id), 200)
    return f'10.0.{block}.{host + 10}'


def inventory():
    """The same cloud for the worker."""
    return {
        'zones': ZONES,
        'regions': REGIONS,
        'networks': {'private': {'id': 'net1'}},
        'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/16'}},
        'load_balancer': {'state': str(folder() / LOAD_BALANCERS)},
        'servers': {one: {'addresses': {'private': [{'addr': address(one), 'version': 4}]}} for one in SERVERS},
    }


def folder():
    return Path(os.environ[FOLDER])


def requests():
    """What was asked of Nova for each server that is there, by its id."""
    return {file.name: json.loads(file.read_text()) for file in (folder() / 'servers').iterdir()}


def load_balancers():
    """The names of the load balancers that the worker's embedded cloud has, by their ids."""
    return {lb_id: shown['name'] for lb_id, shown in _state().get('loadbalancer', {}).items()}


def members(pool_id):
    """The addresses in one of its pools."""
    return sorted(member['address'] for member in _state()['members'][pool_id].values())


def _state():
    file = folder() / LOAD_BALANCERS
    return json.loads(file.read_text()).get(REGIONS[0], {}) if file.exists() else {}


class Compute(os_test.compute):
    def validate_azs(self, zones):
        return [zone for zone in zones if ZONES.get(zone)]

    def server_create(self, **request):
        used = {file.name for part in ('servers', 'deleted') for file in (folder() / part).iterdir()}
        server_id = next(server_id for server_id in SERVERS if server_id not in used)
        (folder() / 'servers' / server_id).write_text(json.dumps(request))
        return self.server_get(server_id)

    def server_get(self, server):
        request = json.loads((folder() / 'servers' / server).read_text())
        return FakeResourceObject({'id': server, 'availability_zone': request.get('availability_zone', 'az1')})

    def server_delete(self, server, ignore_missing=True):
        (folder() / 'servers' / server).rename(folder() / 'deleted' / server)

    def server_group_find(self, name, ignore_missing=False):
        return None

    def server_group_create(self, **_):
        return FakeResourceObject({'id': 'group-1'})

    def server_group_delete(self, group, ignore_missing=True):
        pass


class Identity(os_test.identity):
    def __init__(self, params):
        """Without the connection."""

    def validate_regions(self, regions):
        return [region for region in regions if region in REGIONS]


class LoadBalancing(os_test.loadbalancing):
    """Counts what Senlin's own policy asks, each of which is an update of the load balancer and a wait."""

    numbers = itertools.count(1)
    added: list[str] = []
    removed: list[str] = []
    deleted: list[str] = []

    def lb_delete(self, **stored):
        self.deleted.append(stored['loadbalancer'])
        return True, 'LB deletion succeeded'

    def member_add(self, node, lb_id, pool_id, port, subnet):
        self.added.append(node.id)
        return f'member-{next(self.numbers)}'

    def member_remove(self, lb_id, pool_id, member_id):
        self.removed.append(member_id)
        return True


os_test.compute = Compute
os_test.identity = Identity
os_test.loadbalancing = LoadBalancing
