"""The state machine of Octavia: which calls change an object, and which ones are refused.

A change makes a load balancer with all its parts immutable until it ends. A policy that does not
wait for that fails in production alone, so the simulator refuses what Octavia refuses.

:source: api/v2/controllers of Octavia 19 for the conditions and their status codes.
"""

import datetime
import ipaddress
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from placement_worker.cloud import spec_rules
from placement_worker.cloud.ports import ApiError, ObjectKind, Resource

KINDS: tuple[ObjectKind, ...] = ('loadbalancer', 'listener', 'pool', 'healthmonitor')
_NAMES = {
    'loadbalancer': 'Load Balancer',
    'listener': 'Listener',
    'pool': 'Pool',
    'healthmonitor': 'Health Monitor',
}
_LISTED_CHILDREN: tuple[ObjectKind, ...] = ('listener', 'pool')  # those that a load balancer lists
# The keys of a request body that contain children.
_CHILD_KEYS = ('listeners', 'pools', 'default_pool', 'members', 'healthmonitor')
# An id depends only on a serial number, so equal calls give equal ids.
_ID_NAMESPACE = uuid.UUID('b0a5f5bc-6a33-4f63-9c4b-6a8e2f6d0c11')
_NOTHING: Mapping[str, Any] = {}
_VIP_WITHOUT_SUBNET = '198.51.100.1'


class StateMachine:
    """The load balancers of one region at one point in time.

    :ivar data: {kind: {id: object}, 'members': {pool id: {member id: member}}, 'serial': number of
        ids in use, 'pending': {load balancer id: {'until': seconds, 'then': status}}}. The methods
        change it in place.
    """

    def __init__(
        self,
        data: dict[str, Any],
        now: float,
        pending_s: float,
        *,
        subnets: Mapping[str, str | None] | None = None,
        offered: Mapping[str, Sequence[str]] = _NOTHING,
        member_status: Mapping[str, str] = _NOTHING,
    ) -> None:
        """Finish the changes that are no longer pending `now` (seconds since 1970).

        :param subnets: id -> CIDR of the existing subnets; None accepts any subnet.
        :param offered: the names of flavors and availability zones, by kind.
        :param member_status: the results of health monitors: address -> status.
        """
        self.data = data
        self._subnets = subnets
        self._offered = offered
        self._member_status = member_status
        for part in (*KINDS, 'members'):
            data.setdefault(part, {})
        data.setdefault('serial', 0)
        self._now = now
        self._pending_s = pending_s
        for lb_id, pending in list(data.setdefault('pending', {}).items()):
            if pending['until'] <= now:
                del data['pending'][lb_id]
                self._finish(lb_id, pending['then'])

    def find(self, kind: ObjectKind, **filters: Any) -> list[Resource]:
        resources = [self._as_resource(kind, stored) for stored in self._all_stored(kind)]
        return [resource for resource in resources if _fits(resource, filters)]

    def show(self, kind: ObjectKind, object_id: str) -> Resource:
        if kind not in self._offered:
            return self._as_resource(kind, self._stored(kind, object_id))
        if object_id not in self._offered[kind]:
            raise ApiError(f'{kind} {object_id} not found.', 404)
        return {'id': object_id, 'name': object_id}

    def create(self, kind: ObjectKind, body: Resource) -> Resource:
        if kind == 'loadbalancer':
            return self._create_load_balancer(body)
        lb_id = self._load_balancer_id(kind, body)
        self._check_active(lb_id)
        add = {'listener': self._add_listener, 'healthmonitor': self._add_health_monitor}
        created = add.get(kind, self._add_pool)(lb_id, body)
        self._change(lb_id)
        return self._as_resource(kind, created)

    def delete(self, kind: ObjectKind, object_id: str, *, cascade: bool = False) -> None:
        stored = self._stored(kind, object_id)
        if kind != 'loadbalancer':
            self._change(stored['lb'])
            stored['provisioning_status'] = 'PENDING_DELETE'
            return
        if not cascade and any(self._children(part, object_id) for part in KINDS[1:]):
            raise ApiError(f'Cannot delete Load Balancer {object_id} - it has children', 400)
        state = stored['provisioning_status']
        if state.startswith('PENDING'):
            raise ApiError(f'Invalid state {state} of loadbalancer resource {object_id}', 409)
        stored['provisioning_status'] = 'PENDING_DELETE'
        self._pend(object_id, 'DELETED')

    def members(self, pool_id: str) -> list[Resource]:
        pool, members = self._pool(pool_id)
        results = None if pool.get('healthmonitor_id') is None else self._member_status
        return [
            {**member, 'operating_status': _operating_status(member, results)}
            for member in members.values()
        ]

    def create_member(self, pool_id: str, body: Resource) -> Resource:
        pool, members = self._pool(pool_id)
        self._check_active(pool['lb'])  # a pending member at the address may be deleted
        if any(_member_key(member) == _member_key(body) for member in members.values()):
            raise ApiError(
                f'Another member on this pool is already using ip {body["address"]}', 409
            )
        self._change(pool['lb'])
        return dict(self._put_member(members, body))

    def update_members(
        self, pool_id: str, bodies: Sequence[Resource], *, additive_only: bool
    ) -> None:
        pool, members = self._pool(pool_id)
        if len({_member_key(body) for body in bodies}) < len(bodies):
            raise ApiError('Duplicate members in the request', 400)
        self._change(pool['lb'])
        unlisted = {_member_key(member): member for member in members.values()}
        for body in bodies:
            known = unlisted.pop(_member_key(body), None)
            if known is None:
                self._put_member(members, body)
            else:
                status = {'id': known['id'], 'provisioning_status': 'PENDING_UPDATE'}
                known.update({**_with_defaults(body), **status})
        for member in () if additive_only else unlisted.values():
            member['provisioning_status'] = 'PENDING_DELETE'

    def delete_member(self, pool_id: str, member_id: str) -> None:
        pool, members = self._pool(pool_id)
        if member_id not in members:
            raise ApiError(f'member {member_id} not found.', 404)
        self._change(pool['lb'])
        members[member_id]['provisioning_status'] = 'PENDING_DELETE'

    def fail_pending_changes(self) -> None:
        for pending in self.data['pending'].values():
            pending['then'] = 'ERROR'

    def _pool(self, pool_id: str) -> tuple[Resource, dict[str, Resource]]:
        return self._stored('pool', pool_id), self._members(pool_id)

    def _create_load_balancer(self, body: Resource) -> Resource:
        subnet_id, subnets = body.get('vip_subnet_id'), self._subnets
        if subnets is not None and subnet_id is not None and subnet_id not in subnets:
            raise ApiError(f'Subnet {subnet_id} not found.', 400)
        cidr = (subnets or {}).get(subnet_id or '')
        _raise_refusal(partial(spec_rules.address_refusal, cidr=cidr), body.get('vip_address'))
        for listener in body.get('listeners') or ():
            _check_pool(listener, listener.get('default_pool') or {})
        vip = body.get('vip_address') or _vip_address(cidr, self.data['serial'])
        created_at = datetime.datetime.fromtimestamp(self._now, datetime.UTC)
        stored = self._put(
            'loadbalancer',
            body,
            vip_address=vip,
            vip_subnet_id=subnet_id,
            created_at=created_at.strftime('%Y-%m-%dT%H:%M:%S'),
        )
        self._pend(stored['id'], 'ACTIVE')
        for listener in body.get('listeners') or ():
            added = self._add_listener(stored['id'], listener)
            pool = listener.get('default_pool')
            if pool:
                self._add_pool(stored['id'], {**pool, 'listener_id': added['id']})
        return self._as_resource('loadbalancer', stored)

    def _add_listener(self, lb_id: str, body: Resource) -> Resource:
        port = body['protocol_port']
        others = self._children('listener', lb_id)
        if any(other['protocol_port'] == port for other in others):
            raise ApiError(
                f'Another Listener on this Load Balancer is already using protocol_port {port}', 409
            )
        return self._put('listener', body, lb=lb_id, loadbalancers=[{'id': lb_id}])

    def _add_health_monitor(self, lb_id: str, body: Resource) -> Resource:
        pool = self._stored('pool', body['pool_id'])
        _check_monitor(pool, body)
        monitor_id = pool.get('healthmonitor_id')
        if monitor_id:
            raise ApiError(f'This pool already has a health monitor ({monitor_id})', 409)
        monitor = self._put('healthmonitor', body, lb=lb_id, pools=[{'id': pool['id']}])
        pool['healthmonitor_id'] = monitor['id']
        return monitor

    def _add_pool(self, lb_id: str, body: Resource) -> Resource:
        listener = body.get('listener_id')
        listeners = [{'id': listener}] if listener else []
        if listener:
            _check_pool(self._stored('listener', listener), body)
        pools = self._all_stored('pool')
        if listener and any(pool['listeners'] == listeners for pool in pools):
            raise ApiError('This listener already has a default pool', 409)
        parents = {'loadbalancers': [{'id': lb_id}], 'listeners': listeners}
        pool = self._put('pool', body, lb=lb_id, **parents)
        members = self._members(pool['id'])
        for member in body.get('members') or ():
            self._put_member(members, member)
        if body.get('healthmonitor'):
            self._add_health_monitor(lb_id, {**body['healthmonitor'], 'pool_id': pool['id']})
        return pool

    def _change(self, lb_id: str) -> None:
        self._check_active(lb_id)
        self._stored('loadbalancer', lb_id)['provisioning_status'] = 'PENDING_UPDATE'
        self._pend(lb_id, 'ACTIVE')

    def _check_active(self, lb_id: str) -> None:
        if self._stored('loadbalancer', lb_id)['provisioning_status'] != 'ACTIVE':
            raise ApiError(f'Load Balancer {lb_id} is immutable and cannot be updated.', 409)

    def _pend(self, lb_id: str, then: str) -> None:
        self.data['pending'][lb_id] = {'until': self._now + self._pending_s, 'then': then}

    def _finish(self, lb_id: str, status: str) -> None:
        for collection, object_id in self._parts(lb_id):
            pending = collection[object_id]['provisioning_status']
            if status == 'DELETED' or (pending == 'PENDING_DELETE' and status == 'ACTIVE'):
                del collection[object_id]
            elif pending.startswith('PENDING'):
                collection[object_id]['provisioning_status'] = status
        self._drop_orphans()

    def _stored(self, kind: ObjectKind, object_id: str) -> Resource:
        try:
            stored: Resource = self.data[kind][object_id]
        except KeyError:
            raise ApiError(f'{_NAMES.get(kind, kind)} {object_id} not found.', 404) from None
        return stored

    def _all_stored(self, kind: ObjectKind) -> list[Resource]:
        return list(self.data.get(kind, {}).values())

    def _members(self, pool_id: str) -> dict[str, Resource]:
        members: dict[str, Resource] = self.data['members'].setdefault(pool_id, {})
        return members

    def _children(self, kind: ObjectKind, lb_id: str) -> list[Resource]:
        return [stored for stored in self._all_stored(kind) if stored['lb'] == lb_id]

    def _put(self, kind: ObjectKind, body: Resource, **more: Any) -> Resource:
        own = {key: value for key, value in body.items() if key not in _CHILD_KEYS}
        stored = {**own, **more, 'id': self._new_id(), 'provisioning_status': 'PENDING_CREATE'}
        self.data[kind][stored['id']] = stored
        return stored

    def _put_member(self, members: dict[str, Resource], body: Resource) -> Resource:
        status = {'id': self._new_id(), 'provisioning_status': 'PENDING_CREATE'}
        member = members[status['id']] = {**_with_defaults(body), **status}
        return member

    def _load_balancer_id(self, kind: ObjectKind, body: Resource) -> str:
        if kind == 'healthmonitor':
            return str(self._stored('pool', body['pool_id'])['lb'])
        if body.get('listener_id'):
            return str(self._stored('listener', body['listener_id'])['lb'])
        return str(self._stored('loadbalancer', body['loadbalancer_id'])['id'])

    def _parts(self, lb_id: str) -> list[tuple[dict[str, Resource], str]]:
        members = [self._members(pool['id']) for pool in self._children('pool', lb_id)]
        return [(collection, member_id) for collection in members for member_id in collection] + [
            (self.data[kind], object_id)
            for kind in KINDS
            for object_id, stored in self.data[kind].items()
            if lb_id in (object_id, stored.get('lb'))
        ]

    def _drop_orphans(self) -> None:
        """Delete members of deleted pools, and references to deleted health monitors."""
        pools = self.data['pool']
        for pool_id in [pool_id for pool_id in self.data['members'] if pool_id not in pools]:
            del self.data['members'][pool_id]
        for pool in pools.values():
            if pool.get('healthmonitor_id') not in self.data['healthmonitor']:
                pool['healthmonitor_id'] = None

    def _as_resource(self, kind: ObjectKind, stored: Resource) -> Resource:
        """Return an object as the API shows it; a load balancer includes ids of its children."""
        resource = {key: value for key, value in stored.items() if key != 'lb'}
        for child in _LISTED_CHILDREN if kind == 'loadbalancer' else ():
            children = self._children(child, stored['id'])
            resource[f'{child}s'] = [{'id': part['id']} for part in children]
        return resource

    def _new_id(self) -> str:
        self.data['serial'] += 1
        return str(uuid.uuid5(_ID_NAMESPACE, str(self.data['serial'])))


def _check_pool(listener: Resource, pool: Resource) -> None:
    _raise_refusal(spec_rules.pool_refusal, listener.get('protocol'), pool.get('protocol'))
    _check_monitor(pool, pool.get('healthmonitor') or {})


def _check_monitor(pool: Resource, monitor: Resource) -> None:
    _raise_refusal(spec_rules.monitor_refusal, pool.get('protocol'), monitor.get('type'))
    _raise_refusal(spec_rules.codes_refusal, monitor.get('expected_codes'))


def _raise_refusal(refusal: Callable[..., str | None], *values: str | None) -> None:
    """Raise the refusal of values; Octavia's defaults apply to one of None."""
    reason = refusal(*values) if all(values) else None
    if reason is not None:
        raise ApiError(reason, 400)


def _fits(resource: Resource, filters: Mapping[str, Any]) -> bool:
    return all(
        set(wanted) <= set(resource.get(key) or ())
        if isinstance(wanted, list)
        else resource.get(key) == wanted
        for key, wanted in filters.items()
    )


def _member_key(member: Mapping[str, Any]) -> tuple[str, int]:
    return member['address'], member['protocol_port']


def _with_defaults(body: Resource) -> Resource:
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


def _operating_status(member: Resource, probed: Mapping[str, str] | None) -> str:
    if not member['admin_state_up']:
        return 'OFFLINE'
    if not member['weight']:
        return 'DRAINING'
    return 'NO_MONITOR' if probed is None else probed.get(member['address'], 'ONLINE')


def _vip_address(cidr: str | None, number: int) -> str:
    """Return an address of a subnet for a virtual IP; consecutive numbers give different ones."""
    if cidr is None:
        return _VIP_WITHOUT_SUBNET
    network = ipaddress.ip_network(cidr, strict=False)
    return str(network[-2 - number % max(network.num_addresses - 3, 1)])
