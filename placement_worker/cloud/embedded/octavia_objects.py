"""The objects of the Octavia simulator as plain data: load balancers and their children."""

import ipaddress
import uuid
from collections.abc import Mapping
from typing import Any

from placement_worker.cloud.ports import ApiError, Kind, Resource

ID_NAMESPACE = uuid.UUID('b0a5f5bc-6a33-4f63-9c4b-6a8e2f6d0c11')
"""The namespace of ids. An id depends only on a serial number, so equal calls give equal ids."""
NAMES = {
    'loadbalancer': 'Load Balancer',
    'listener': 'Listener',
    'pool': 'Pool',
    'healthmonitor': 'Health Monitor',
}
KINDS: tuple[Kind, ...] = ('loadbalancer', 'listener', 'pool', 'healthmonitor')
LISTED_CHILDREN: tuple[Kind, ...] = ('listener', 'pool')
"""The kinds of children that a load balancer lists."""
CHILD_KEYS = ('listeners', 'pools', 'default_pool', 'members', 'healthmonitor')
"""The keys of a request body that contain children."""
VIP_WITHOUT_SUBNET = '198.51.100.1'


class OctaviaObjects:
    """The objects of one region.

    :ivar data: {kind: {id: object}, 'members': {pool id: {member id: member}}, 'serial': number of
        ids in use}. The methods change it in place.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        for part in (*KINDS, 'members'):
            data.setdefault(part, {})

    @property
    def serial(self) -> int:
        """The number of ids in use."""
        return int(self.data.get('serial', 0))

    def get(self, kind: Kind, object_id: str) -> Resource:
        """Return the stored object.

        :raises ApiError: with status 404 if the object does not exist.
        """
        try:
            stored: Resource = self.data[kind][object_id]
        except KeyError:
            raise ApiError(f'{NAMES.get(kind, kind)} {object_id} not found.', 404) from None
        return stored

    def all(self, kind: Kind) -> list[Resource]:
        """Return all stored objects of a kind."""
        return list(self.data.get(kind, {}).values())

    def members(self, pool_id: str) -> dict[str, Resource]:
        """Return the members of a pool by id."""
        members: dict[str, Resource] = self.data['members'].setdefault(pool_id, {})
        return members

    def children(self, kind: Kind, lb_id: str) -> list[Resource]:
        """Return the objects of a kind that belong to a load balancer."""
        return [one for one in self.all(kind) if one['lb'] == lb_id]

    def put(self, kind: Kind, body: Resource, **more: Any) -> Resource:
        """Store a new object without its children."""
        own = {key: value for key, value in body.items() if key not in CHILD_KEYS}
        stored = {**own, **more, 'id': self._new_id(), 'provisioning_status': 'PENDING_CREATE'}
        self.data[kind][stored['id']] = stored
        return stored

    def put_member(self, members: dict[str, Resource], body: Resource) -> Resource:
        """Store a new member."""
        member = {
            **with_defaults(body),
            'id': self._new_id(),
            'provisioning_status': 'PENDING_CREATE',
        }
        members[member['id']] = member
        return member

    def load_balancer_id(self, kind: Kind, body: Resource) -> str:
        """Return the load balancer to which a new child will belong."""
        if kind == 'healthmonitor':
            return str(self.get('pool', body['pool_id'])['lb'])
        if body.get('listener_id'):
            return str(self.get('listener', body['listener_id'])['lb'])
        return str(self.get('loadbalancer', body['loadbalancer_id'])['id'])

    def parts(self, lb_id: str) -> list[tuple[dict[str, Resource], str]]:
        """Return a load balancer, its children and their members, each as collection and id."""
        members = [self.members(pool['id']) for pool in self.children('pool', lb_id)]
        return [(collection, member_id) for collection in members for member_id in collection] + [
            (self.data[kind], object_id)
            for kind in KINDS
            for object_id, one in self.data[kind].items()
            if lb_id in (object_id, one.get('lb'))
        ]

    def drop_orphans(self) -> None:
        """Delete members of deleted pools, and references to deleted health monitors."""
        pools = self.data['pool']
        for pool_id in [pool_id for pool_id in self.data['members'] if pool_id not in pools]:
            del self.data['members'][pool_id]
        for pool in pools.values():
            if pool.get('healthmonitor_id') not in self.data['healthmonitor']:
                pool['healthmonitor_id'] = None

    def shown(self, kind: Kind, stored: Resource) -> Resource:
        """Return an object as the API shows it; a load balancer includes ids of its children."""
        shown = {key: value for key, value in stored.items() if key != 'lb'}
        if kind == 'loadbalancer':
            for child in LISTED_CHILDREN:
                shown[f'{child}s'] = [
                    {'id': one['id']} for one in self.children(child, stored['id'])
                ]
        return shown

    def _new_id(self) -> str:
        self.data['serial'] = self.serial + 1
        return str(uuid.uuid5(ID_NAMESPACE, str(self.serial)))


def member_key(member: Mapping[str, Any]) -> tuple[str, int]:
    """Return address and port, which identify a member within its pool."""
    return member['address'], member['protocol_port']


def with_defaults(body: Resource) -> Resource:
    """Return a member with default values for the keys that the body omits."""
    return {
        'name': '',
        'weight': 1,
        'admin_state_up': True,
        'backup': False,
        'monitor_address': None,
        'monitor_port': None,
        'subnet_id': None,
        'tags': [],
        **body,
    }


def operating_status(member: Resource, found: Mapping[str, str] | None) -> str:
    """Return the operating status of a member.

    :param found: address -> status that the health monitor finds; None without a monitor.
    """
    if not member['admin_state_up']:
        return 'OFFLINE'
    if not member['weight']:
        return 'DRAINING'
    return 'NO_MONITOR' if found is None else found.get(member['address'], 'ONLINE')


def vip_address(cidr: str | None, number: int) -> str:
    """Return an address of a subnet for a virtual IP; consecutive numbers give different ones."""
    if cidr is None:
        return VIP_WITHOUT_SUBNET
    network = ipaddress.ip_network(cidr, strict=False)
    return str(network[-2 - number % max(network.num_addresses - 3, 1)])
