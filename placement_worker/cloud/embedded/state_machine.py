"""The state machine of Octavia: which calls change an object, and which ones are refused.

:source: api/v2/controllers of Octavia 19 for the conditions and their status codes.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.cloud.embedded.octavia_objects import (
    KINDS,
    OctaviaObjects,
    member_key,
    operating_status,
    vip_address,
    with_defaults,
)
from placement_worker.cloud.ports import ApiError, Kind, Resource

NOTHING_FOUND: Mapping[str, str] = {}


class StateMachine:
    """The load balancers of one region at one point in time.

    :ivar data: the objects (see `OctaviaObjects`), and the pending changes as {'pending': {load
        balancer id: {'until': seconds, 'then': status}}}. The methods change it in place.
    """

    def __init__(self, data: dict[str, Any], now: float, pending_s: float) -> None:
        """Finish the changes that are no longer pending.

        :param now: seconds since 1970.
        :param pending_s: how long a change stays pending.
        """
        self.data = data
        self._objects = OctaviaObjects(data)
        self._now = now
        self._pending_s = pending_s
        for lb_id, pending in list(data.setdefault('pending', {}).items()):
            if pending['until'] <= now:
                del data['pending'][lb_id]
                self._finish(lb_id, pending['then'])

    def all(self, kind: Kind) -> list[Resource]:
        """Return all objects of a kind."""
        return [self._objects.shown(kind, one) for one in self._objects.all(kind)]

    def get(self, kind: Kind, object_id: str) -> Resource:
        """Return one object."""
        return self._objects.shown(kind, self._objects.get(kind, object_id))

    def create(
        self, kind: Kind, body: Resource, subnets: Mapping[str, str | None] | None
    ) -> Resource:
        """Create a load balancer with its children, or a child of an existing load balancer.

        :param subnets: id -> CIDR of the existing subnets; None accepts any subnet.
        """
        if kind == 'loadbalancer':
            return self._create_load_balancer(body, subnets)
        lb_id = self._objects.load_balancer_id(kind, body)
        self._refuse_pending(lb_id)
        created = self._add(kind, lb_id, body)
        self._change(lb_id)
        return self._objects.shown(kind, created)

    def delete(self, kind: Kind, object_id: str, *, cascade: bool) -> None:
        """Delete an object; a load balancer with children requires `cascade`."""
        stored = self._objects.get(kind, object_id)
        if kind != 'loadbalancer':
            self._change(stored['lb'])
            stored['provisioning_status'] = 'PENDING_DELETE'
            return
        if not cascade and any(self._objects.children(part, object_id) for part in KINDS[1:]):
            raise ApiError(f'Cannot delete Load Balancer {object_id} - it has children', 400)
        state = stored['provisioning_status']
        if state.startswith('PENDING'):
            raise ApiError(f'Invalid state {state} of loadbalancer resource {object_id}', 409)
        stored['provisioning_status'] = 'PENDING_DELETE'
        self._pend(object_id, 'DELETED')

    def members(self, pool_id: str, found: Mapping[str, str] = NOTHING_FOUND) -> list[Resource]:
        """Return the members of a pool with their operating status.

        :param found: address -> status that a health monitor finds; ONLINE if it is missing.
        """
        pool, members = self._pool(pool_id)
        monitored = pool.get('healthmonitor_id') is not None
        return [
            {**member, 'operating_status': operating_status(member, found if monitored else None)}
            for member in members.values()
        ]

    def create_member(self, pool_id: str, body: Resource) -> Resource:
        """Add a member."""
        pool, members = self._pool(pool_id)
        if any(member_key(member) == member_key(body) for member in members.values()):
            raise ApiError(
                f'Another member on this pool is already using ip {body["address"]}', 409
            )
        self._change(pool['lb'])
        return dict(self._objects.put_member(members, body))

    def update_members(
        self, pool_id: str, bodies: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """Add or change members; without `additive_only`, delete all other members."""
        pool, members = self._pool(pool_id)
        if len({member_key(body) for body in bodies}) < len(bodies):
            raise ApiError('Duplicate members in the request', 400)
        self._change(pool['lb'])
        unlisted = {member_key(member): member for member in members.values()}
        for body in bodies:
            known = unlisted.pop(member_key(body), None)
            if known is None:
                self._objects.put_member(members, body)
            else:
                status = {'id': known['id'], 'provisioning_status': 'PENDING_UPDATE'}
                known.update({**with_defaults(body), **status})
        for member in () if additive_only else unlisted.values():
            member['provisioning_status'] = 'PENDING_DELETE'

    def delete_member(self, pool_id: str, member_id: str) -> None:
        """Remove a member."""
        pool, members = self._pool(pool_id)
        if member_id not in members:
            raise ApiError(f'member {member_id} not found.', 404)
        self._change(pool['lb'])
        members[member_id]['provisioning_status'] = 'PENDING_DELETE'

    def fail_pending_changes(self) -> None:
        """Let all pending changes end in ERROR."""
        for pending in self.data['pending'].values():
            pending['then'] = 'ERROR'

    def _pool(self, pool_id: str) -> tuple[Resource, dict[str, Resource]]:
        return self._objects.get('pool', pool_id), self._objects.members(pool_id)

    def _create_load_balancer(
        self, body: Resource, subnets: Mapping[str, str | None] | None
    ) -> Resource:
        subnet_id = body.get('vip_subnet_id')
        if subnets is not None and subnet_id is not None and subnet_id not in subnets:
            raise ApiError(f'Subnet {subnet_id} not found.', 400)
        cidr = (subnets or {}).get(subnet_id or '')
        vip = body.get('vip_address') or vip_address(cidr, self._objects.serial)
        created_at = datetime.datetime.fromtimestamp(self._now, datetime.UTC)
        stored = self._objects.put(
            'loadbalancer',
            body,
            vip_address=vip,
            vip_subnet_id=subnet_id,
            created_at=created_at.strftime('%Y-%m-%dT%H:%M:%S'),
        )
        self._pend(stored['id'], 'ACTIVE')
        for listener in body.get('listeners') or ():
            added = self._add('listener', stored['id'], listener)
            pool = listener.get('default_pool')
            if pool:
                self._add('pool', stored['id'], {**pool, 'listener_id': added['id']})
        return self._objects.shown('loadbalancer', stored)

    def _add(self, kind: Kind, lb_id: str, body: Resource) -> Resource:
        """Add a child to a load balancer, with the child's own children."""
        if kind == 'listener':
            return self._add_listener(lb_id, body)
        if kind == 'healthmonitor':
            return self._add_health_monitor(lb_id, body)
        return self._add_pool(lb_id, body)

    def _add_listener(self, lb_id: str, body: Resource) -> Resource:
        port = body['protocol_port']
        others = self._objects.children('listener', lb_id)
        if any(one['protocol_port'] == port for one in others):
            raise ApiError(
                f'Another Listener on this Load Balancer is already using protocol_port {port}',
                409,
            )
        return self._objects.put('listener', body, lb=lb_id, loadbalancers=[{'id': lb_id}])

    def _add_health_monitor(self, lb_id: str, body: Resource) -> Resource:
        pool = self._objects.get('pool', body['pool_id'])
        monitor_id = pool.get('healthmonitor_id')
        if monitor_id:
            raise ApiError(f'This pool already has a health monitor ({monitor_id})', 409)
        monitor = self._objects.put('healthmonitor', body, lb=lb_id, pools=[{'id': pool['id']}])
        pool['healthmonitor_id'] = monitor['id']
        return monitor

    def _add_pool(self, lb_id: str, body: Resource) -> Resource:
        listener = body.get('listener_id')
        listeners = [{'id': listener}] if listener else []
        if listener and any(one['listeners'] == listeners for one in self._objects.all('pool')):
            raise ApiError('This listener already has a default pool', 409)
        parents = {'loadbalancers': [{'id': lb_id}], 'listeners': listeners}
        pool = self._objects.put('pool', body, lb=lb_id, **parents)
        members = self._objects.members(pool['id'])
        for member in body.get('members') or ():
            self._objects.put_member(members, member)
        if body.get('healthmonitor'):
            self._add_health_monitor(lb_id, {**body['healthmonitor'], 'pool_id': pool['id']})
        return pool

    def _change(self, lb_id: str) -> None:
        """Start a change of a load balancer."""
        self._refuse_pending(lb_id)
        self._objects.get('loadbalancer', lb_id)['provisioning_status'] = 'PENDING_UPDATE'
        self._pend(lb_id, 'ACTIVE')

    def _refuse_pending(self, lb_id: str) -> None:
        """Raise an error unless the load balancer is ACTIVE."""
        if self._objects.get('loadbalancer', lb_id)['provisioning_status'] != 'ACTIVE':
            raise ApiError(f'Load Balancer {lb_id} is immutable and cannot be updated.', 409)

    def _pend(self, lb_id: str, then: str) -> None:
        self.data['pending'][lb_id] = {'until': self._now + self._pending_s, 'then': then}

    def _finish(self, lb_id: str, status: str) -> None:
        """Finish the pending change of a load balancer."""
        for collection, object_id in self._objects.parts(lb_id):
            pending = collection[object_id]['provisioning_status']
            if status == 'DELETED' or (pending == 'PENDING_DELETE' and status == 'ACTIVE'):
                del collection[object_id]
            elif pending.startswith('PENDING'):
                collection[object_id]['provisioning_status'] = status
        self._objects.drop_orphans()
