"""A replacement of Keystone, Nova and Octavia for Senlin.

Completes Senlin's own stand-in (`cloud_backend = openstack_test`), which has one server and no
zones. Everything else of Senlin is real: its `os.nova.server-1.0` creates and deletes servers here.
All processes share the state in the folder that the environment variable names. An entry point in
`senlin.endpoints` imports this module.
"""

import json
import os
import uuid
from pathlib import Path
from types import SimpleNamespace

from openstack.compute.v2 import _proxy
from openstack.compute.v2 import server as sdk_server
from openstack.exceptions import NotFoundException
from senlin.common import consts, exception
from senlin.drivers.os import lbaas, nova_v2, octavia_v2
from senlin.drivers.sdk import FakeResourceObject
from senlin.tests.drivers import os_test

from placement_worker.cloud.embedded.inventory import Inventory

FOLDER = 'TEST_CLOUD'
LOAD_BALANCERS = 'load-balancers.json'
HOME_REGION = 'RegionOne'
ZONES = {'az1': True, 'az2': True, 'az3': True, 'down': False}
REGIONS = {'RegionOne': {}, 'RegionTwo': {}, 'Zoneless': {'zones': {}}}
# The ids of new servers in order, so that the worker's embedded cloud can list them.
SERVERS = [str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))) for number in range(500)]


# Zone -> the fault of each new server there, as Nova shows it; tests fill it in.
FULL = {}


def address(server_id):
    block, host = divmod(SERVERS.index(server_id), 200)
    return f'10.0.{block}.{host + 10}'


def inventory():
    """Return the same cloud for the worker."""
    return {
        'zones': ZONES,
        'regions': REGIONS,
        'networks': {'private': {'id': 'net1'}},
        'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/16'}},
        'load_balancer': {'state': str(folder() / LOAD_BALANCERS)},
        'servers': {
            server_id: {'addresses': {'private': [{'addr': address(server_id), 'version': 4}]}}
            for server_id in SERVERS
        },
    }


def folder():
    return Path(os.environ[FOLDER])


def requests():
    """Return the request to Nova that created each existing server, by server id."""
    return {file.name: json.loads(file.read_text()) for file in (folder() / 'servers').iterdir()}


def load_balancers():
    """Return the names of the embedded cloud's load balancers by id."""
    return {lb_id: shown['name'] for lb_id, shown in _state().get('loadbalancer', {}).items()}


def members(pool_id):
    return sorted(member['address'] for member in _state()['members'][pool_id].values())


def tags(pool_id):
    """Return the tags of the members in one of its pools by address."""
    return {
        member['address']: member.get('tags', [])
        for member in _state()['members'][pool_id].values()
    }


def pool_of_others(address):
    octavia = Inventory.parse(inventory(), 'test').octavia(None)
    lb = octavia.create('loadbalancer', {'name': 'front', 'vip_subnet_id': 'sub1'})
    http = {'loadbalancer_id': lb['id'], 'protocol': 'HTTP', 'protocol_port': 80}
    listener_id = octavia.create('listener', http)['id']
    balanced = {'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}
    pool = octavia.create('pool', {'listener_id': listener_id, **balanced})
    octavia.create_member(pool['id'], {'address': address, 'protocol_port': 80})
    return pool['id']


def _state():
    file = folder() / LOAD_BALANCERS
    return json.loads(file.read_text()).get('RegionOne', {}) if file.exists() else {}


class Compute(os_test.compute):
    """Nova in one region, which finds the servers of no other region."""

    def __init__(self, params):
        super().__init__(params)
        self._region = params.get('region_name', HOME_REGION)

    def validate_azs(self, zones):
        return [zone for zone in zones if ZONES.get(zone)]

    def server_create(self, **request):
        used = {
            file.name for part in ('servers', 'deleted') for file in (folder() / part).iterdir()
        }
        server_id = next(server_id for server_id in SERVERS if server_id not in used)
        stored = {**request, 'region_name': self._region}
        (folder() / 'servers' / server_id).write_text(json.dumps(stored))
        return self.server_get(server_id)

    def wait_for_server(self, server, **options):
        """Wait with Senlin's own client and openstacksdk for a server in a zone without room."""
        request = json.loads((folder() / 'servers' / server).read_text())
        fault = FULL.get(request.get('availability_zone'))
        if fault:
            client = SimpleNamespace(conn=SimpleNamespace(compute=FailingServers(fault)))
            nova_v2.NovaClient.wait_for_server(client, server, **options)

    def server_get(self, server):
        request = self._request(server)
        return FakeResourceObject(
            {
                'id': server,
                'status': consts.VS_ACTIVE,
                'name': request.get('name', server),
                'availability_zone': request.get('availability_zone', 'az1'),
                'addresses': {'private': [{'addr': address(server), 'version': 4}]},
                'image': {},
                'flavor': {'name': 'm1.tiny'},
            }
        )

    def server_delete(self, server, ignore_missing=True):
        self._request(server)
        (folder() / 'servers' / server).rename(folder() / 'deleted' / server)

    def _request(self, server):
        request = json.loads((folder() / 'servers' / server).read_text())
        if request['region_name'] != self._region:
            raise exception.InternalError(code=404, message=f'No server {server} in {self._region}')
        return request

    def server_group_find(self, name, ignore_missing=False):
        return None

    def server_group_create(self, **_):
        return FakeResourceObject({'id': 'group-1'})

    def server_group_delete(self, group, ignore_missing=True):
        pass


class FailingServers(_proxy.Proxy):
    """The servers of openstacksdk, of which each fails with the same fault."""

    def __init__(self, fault):
        """Without a connection."""
        self._fault = fault

    def find_server(self, server, ignore_missing=True):
        return Server(id=server, status='BUILD')

    def get_server(self, server):
        return sdk_server.Server(id=server, status='ERROR', fault=self._fault)


class Server(sdk_server.Server):
    """A server that is in ERROR when it is looked at again; its reason has the class name."""

    def fetch(self, session, **options):
        return sdk_server.Server(id=self.id, status='ERROR')


class Identity(os_test.identity):
    def __init__(self, params):
        """Without the connection."""

    def validate_regions(self, regions):
        return [region for region in regions if region in REGIONS]


class Sdk:
    """The load balancers of the worker's embedded cloud, asked as Senlin asks openstacksdk."""

    def __init__(self):
        self._octavia = Inventory.parse(inventory(), 'test').octavia(None)

    def find_load_balancer(self, name_or_id, ignore_missing=True):
        found = [
            *self._octavia.find('loadbalancer', id=name_or_id),
            *self._octavia.find('loadbalancer', name=name_or_id),
        ]
        if not found and not ignore_missing:
            raise NotFoundException(name_or_id)
        return FakeResourceObject(found[0]) if found else None

    def create_member(self, pool_id, **body):
        return FakeResourceObject(self._octavia.create_member(pool_id, body))

    def delete_member(self, member_id, pool_id, ignore_missing=True):
        self._octavia.delete_member(pool_id, member_id)

    def __getattr__(self, name):
        verb, _, kind = name.partition('_')
        kind = kind.replace('_', '')
        if verb == 'create':
            return lambda **body: FakeResourceObject(self._octavia.create(kind, body))
        return lambda object_id, ignore_missing=True: self._octavia.delete(kind, object_id)


class OctaviaClient(octavia_v2.OctaviaClient):
    def __init__(self, params):
        self.conn = SimpleNamespace(load_balancer=Sdk())


class NeutronClient(os_test.network):
    def subnet_get(self, name_or_id, ignore_missing=False):
        return FakeResourceObject({'id': 'sub1', 'network_id': 'net1', 'ip_version': 4})

    def network_get(self, value, ignore_missing=False):
        return FakeResourceObject({'id': 'net1', 'name': 'private'})


class LoadBalancing(lbaas.LoadBalancerDriver):
    """Senlin's own driver: it creates load balancers part by part, without tags."""

    def oc(self):
        return OctaviaClient(self.conn_params)

    def nc(self):
        return NeutronClient(self.conn_params)


os_test.compute = Compute
os_test.identity = Identity
os_test.network = NeutronClient
os_test.octavia = OctaviaClient
os_test.loadbalancing = LoadBalancing
