"""What Octavia does to load balancers and their parts, on plain data: who is changed, pending,
refused.
"""

import datetime
import ipaddress
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.cloud.ports import ApiError, Kind, Resource

IDS = uuid.UUID('b0a5f5bc-6a33-4f63-9c4b-6a8e2f6d0c11')
"""Ids are made of this and a serial number, so that the same calls give the same ids."""
NAMES = {
    'loadbalancer': 'Load Balancer',
    'listener': 'Listener',
    'pool': 'Pool',
    'healthmonitor': 'Health Monitor',
}
KINDS: tuple[Kind, ...] = ('loadbalancer', 'listener', 'pool', 'healthmonitor')
NO_SUBNET_VIP = '198.51.100.1'


class StateMachine:
    """The load balancers of one region at one moment.

    :ivar data: {kind: {id: object}, 'members': {pool id: {member id: member}}, 'pending': {load
        balancer id: {until, then}}, 'serial': so many ids were given}; changed in place.
    """

    def __init__(self, data: dict[str, Any], now: float, pending_s: float) -> None:
        self.data = data
        self._now = now
        self._pending_s = pending_s
        for part in (*KINDS, 'members', 'pending'):
            data.setdefault(part, {})
        for lb_id, pending in list(data['pending'].items()):
            if pending['until'] <= now:
                del data['pending'][lb_id]
                self._finish(lb_id, pending['then'])

    def all(self, kind: Kind) -> list[Resource]:
        """Every object of a kind."""
        return [self._shown(kind, one) for one in self.data.get(kind, {}).values()]

    def get(self, kind: Kind, object_id: str) -> Resource:
        """One object."""
        return self._shown(kind, self._stored(kind, object_id))

    def create(
        self, kind: Kind, body: Resource, subnets: Mapping[str, str | None] | None
    ) -> Resource:
        """Make an object: a load balancer with the children that it names, or a child of one that
        is there.
        """
        if kind == 'loadbalancer':
            return self._create_load_balancer(body, subnets)
        lb_id = self._parent(kind, body)
        self._refuse_pending(lb_id)
        made = self._add(kind, lb_id, body)
        self._change(lb_id)
        return self._shown(kind, made)

    def delete(self, kind: Kind, object_id: str, *, cascade: bool) -> None:
        """Delete an object; a load balancer that has children only with `cascade`."""
        stored = self._stored(kind, object_id)
        if kind != 'loadbalancer':
            self._change(stored['lb'])
            stored['provisioning_status'] = 'PENDING_DELETE'
            return
        if (
            any(one['lb'] == object_id for part in KINDS[1:] for one in self.data[part].values())
            and not cascade
        ):
            raise ApiError(f'Cannot delete Load Balancer {object_id} - it has children', 400)
        if stored['provisioning_status'].startswith('PENDING'):
            state = stored['provisioning_status']
            raise ApiError(f'Invalid state {state} of loadbalancer resource {object_id}', 409)
        stored['provisioning_status'] = 'PENDING_DELETE'
        self._pend(object_id, 'DELETED')

    def members(self, pool_id: str) -> list[Resource]:
        """The members of a pool."""
        self._stored('pool', pool_id)
        return [dict(member) for member in self.data['members'].get(pool_id, {}).values()]

    def create_member(self, pool_id: str, body: Resource) -> Resource:
        """Add a member."""
        pool, members = self._stored('pool', pool_id), self.data['members'].setdefault(pool_id, {})
        if any(_key(member) == _key(body) for member in members.values()):
            raise ApiError(
                f'Another member on this pool is already using ip {body["address"]}', 409
            )
        self._change(pool['lb'])
        return dict(self._put_member(members, body))

    def update_members(
        self, pool_id: str, bodies: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """Add or change members; without `additive_only` delete those that are not listed."""
        pool, members = self._stored('pool', pool_id), self.data['members'].setdefault(pool_id, {})
        keys = [_key(body) for body in bodies]
        if len(set(keys)) < len(keys):
            raise ApiError('Duplicate members in the request', 400)
        self._change(pool['lb'])
        there = {_key(member): member for member in members.values()}
        for body in bodies:
            known = there.pop(_key(body), None)
            if known is None:
                self._put_member(members, body)
            else:
                known.update(_member(body), id=known['id'], provisioning_status='PENDING_UPDATE')
        for member in () if additive_only else there.values():
            member['provisioning_status'] = 'PENDING_DELETE'

    def delete_member(self, pool_id: str, member_id: str) -> None:
        """Remove a member."""
        pool, members = self._stored('pool', pool_id), self.data['members'].get(pool_id, {})
        if member_id not in members:
            raise ApiError(f'member {member_id} not found.', 404)
        self._change(pool['lb'])
        members[member_id]['provisioning_status'] = 'PENDING_DELETE'

    def fail_pending_changes(self) -> None:
        """Let every change that is pending end in ERROR."""
        for pending in self.data['pending'].values():
            pending['then'] = 'ERROR'

    def _create_load_balancer(
        self, body: Resource, subnets: Mapping[str, str | None] | None
    ) -> Resource:
        subnet_id = body.get('vip_subnet_id')
        if subnets is not None and subnet_id is not None and subnet_id not in subnets:
            raise ApiError(f'Subnet {subnet_id} not found.', 400)
        number = self.data.get('serial', 0)
        vip = body.get('vip_address') or _address((subnets or {}).get(subnet_id or ''), number)
        stored = self._store('loadbalancer', body, vip_address=vip, vip_subnet_id=subnet_id)
        stored['created_at'] = datetime.datetime.fromtimestamp(self._now, datetime.UTC).strftime(
            '%Y-%m-%dT%H:%M:%S'
        )
        self._pend(stored['id'], 'ACTIVE')
        for listener in body.get('listeners') or ():
            made = self._add('listener', stored['id'], listener)
            pool = listener.get('default_pool')
            if pool:
                self._add('pool', stored['id'], {**pool, 'listener_id': made['id']})
        return self._shown('loadbalancer', stored)

    def _add(self, kind: Kind, lb_id: str, body: Resource) -> Resource:
        """A child of a load balancer, with its own children."""
        if kind == 'listener':
            port = body['protocol_port']
            if any(
                one['lb'] == lb_id and one['protocol_port'] == port
                for one in self.data['listener'].values()
            ):
                raise ApiError(
                    f'Another Listener on this Load Balancer is already using protocol_port {port}',
                    409,
                )
            return self._store(kind, body, lb=lb_id, loadbalancers=[{'id': lb_id}])
        if kind == 'healthmonitor':
            pool = self._stored('pool', body['pool_id'])
            if pool.get('healthmonitor_id'):
                raise ApiError(
                    f'This pool already has a health monitor ({pool["healthmonitor_id"]})', 409
                )
            monitor = self._store(kind, body, lb=lb_id, pools=[{'id': pool['id']}])
            pool['healthmonitor_id'] = monitor['id']
            return monitor
        listener = body.get('listener_id')
        listeners = [{'id': listener}] if listener else []
        if listener and any(one['listeners'] == listeners for one in self.data['pool'].values()):
            raise ApiError('This listener already has a default pool', 409)
        pool = self._store(kind, body, lb=lb_id, loadbalancers=[{'id': lb_id}], listeners=listeners)
        members = self.data['members'].setdefault(pool['id'], {})
        for member in body.get('members') or ():
            self._put_member(members, member)
        if body.get('healthmonitor'):
            self._add('healthmonitor', lb_id, {**body['healthmonitor'], 'pool_id': pool['id']})
        return pool

    def _parent(self, kind: Kind, body: Resource) -> str:
        """The load balancer that a child is to be of."""
        if kind == 'healthmonitor':
            return str(self._stored('pool', body['pool_id'])['lb'])
        if body.get('listener_id'):
            return str(self._stored('listener', body['listener_id'])['lb'])
        return str(self._stored('loadbalancer', body['loadbalancer_id'])['id'])

    def _store(self, kind: Kind, body: Resource, **more: Any) -> Resource:
        children = ('listeners', 'pools', 'default_pool', 'members', 'healthmonitor')
        own = {key: value for key, value in body.items() if key not in children}
        stored = {**own, **more, 'id': self._new_id(), 'provisioning_status': 'PENDING_CREATE'}
        self.data[kind][stored['id']] = stored
        return stored

    def _put_member(self, members: dict[str, Resource], body: Resource) -> Resource:
        member = {**_member(body), 'id': self._new_id(), 'provisioning_status': 'PENDING_CREATE'}
        members[member['id']] = member
        return member

    def _new_id(self) -> str:
        self.data['serial'] = self.data.get('serial', 0) + 1
        return str(uuid.uuid5(IDS, str(self.data['serial'])))

    def _stored(self, kind: Kind, object_id: str) -> Resource:
        try:
            stored: Resource = self.data[kind][object_id]
        except KeyError:
            raise ApiError(f'{NAMES.get(kind, kind)} {object_id} not found.', 404) from None
        return stored

    def _change(self, lb_id: str) -> None:
        """Begin a change of a load balancer."""
        self._refuse_pending(lb_id)
        self._stored('loadbalancer', lb_id)['provisioning_status'] = 'PENDING_UPDATE'
        self._pend(lb_id, 'ACTIVE')

    def _refuse_pending(self, lb_id: str) -> None:
        """Only a load balancer that is ready can be changed."""
        if self._stored('loadbalancer', lb_id)['provisioning_status'] != 'ACTIVE':
            raise _immutable(lb_id)

    def _pend(self, lb_id: str, then: str) -> None:
        self.data['pending'][lb_id] = {'until': self._now + self._pending_s, 'then': then}

    def _finish(self, lb_id: str, status: str) -> None:
        """End what was pending."""
        for collection, object_id in self._parts(lb_id):
            pending = collection[object_id]['provisioning_status']
            if status == 'DELETED' or (pending == 'PENDING_DELETE' and status == 'ACTIVE'):
                del collection[object_id]
            elif pending.startswith('PENDING'):
                collection[object_id]['provisioning_status'] = status
        pools = self.data['pool']
        for pool_id in [pool_id for pool_id in self.data['members'] if pool_id not in pools]:
            del self.data['members'][pool_id]
        for pool in pools.values():
            if pool.get('healthmonitor_id') not in self.data['healthmonitor']:
                pool['healthmonitor_id'] = None

    def _parts(self, lb_id: str) -> list[tuple[dict[str, Resource], str]]:
        """A load balancer and everything that it has: where it stands, and its id."""
        pools = [pool_id for pool_id, pool in self.data['pool'].items() if pool['lb'] == lb_id]
        members = [self.data['members'].get(pool_id, {}) for pool_id in pools]
        return [(collection, member_id) for collection in members for member_id in collection] + [
            (self.data[kind], object_id)
            for kind in KINDS
            for object_id, one in self.data[kind].items()
            if lb_id in (object_id, one.get('lb'))
        ]

    def _shown(self, kind: Kind, stored: Resource) -> Resource:
        """An object as the API shows it: a load balancer names its children."""
        shown = {key: value for key, value in stored.items() if key != 'lb'}
        if kind == 'loadbalancer':
            for child, name in (('listener', 'listeners'), ('pool', 'pools')):
                shown[name] = [
                    {'id': one['id']}
                    for one in self.data[child].values()
                    if one['lb'] == stored['id']
                ]
        return shown


def _immutable(lb_id: str) -> ApiError:
    return ApiError(f'Load Balancer {lb_id} is immutable and cannot be updated.', 409)


def _key(member: Mapping[str, Any]) -> tuple[str, int]:
    return member['address'], member['protocol_port']


def _member(body: Resource) -> Resource:
    """A member with what was left out at its default."""
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


def _address(cidr: str | None, number: int) -> str:
    """A VIP in a subnet; another one for each number."""
    if cidr is None:
        return NO_SUBNET_VIP
    network = ipaddress.ip_network(cidr, strict=False)
    return str(network[-2 - number % max(network.num_addresses - 3, 1)])
