"""Attach the load-balancing policy: to a load balancer of its own, or to one that is there
already.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Binding, BindRequest, Cluster, ClusterPatch, NodePatch
from placement_worker.errors import InvalidInput, LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.octavia import load_balancers
from placement_worker.octavia.load_balancers import Balancer, Layout
from placement_worker.octavia.pools import Pool, reason
from placement_worker.octavia.updater import Driver, told
from placement_worker.policies.base import BindingOutcome, State
from placement_worker.policies.load_balancing import members as membership
from placement_worker.policies.load_balancing.members import NOT_ADDED, Sought
from placement_worker.policies.load_balancing.properties import (
    HealthMonitor,
    LoadBalancingProperties,
    SessionPersistence,
)

STORED = 'LoadBalancingPolicy'
"""The key of a binding's data; Senlin's class of that name wrote it first."""
IN_CLUSTER = 'loadbalancers'
"""The key of a cluster's data: policy id -> {vip_address}."""
NAME_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Attached:
    """What attaching stored, in whatever version of the policy."""

    loadbalancer: str
    pool: str
    preexisting: bool

    @classmethod
    def of(cls, binding: Binding | None) -> 'Attached | None':
        """Read it from a binding; None if there is nothing."""
        stored = binding.data.get(STORED) if binding else None
        data = stored.get('data') if isinstance(stored, dict) else None
        if not isinstance(data, dict) or not all(
            isinstance(data.get(key), str) for key in ('loadbalancer', 'pool')
        ):
            return None
        return cls(data['loadbalancer'], data['pool'], bool(data.get('preexisting')))

    @classmethod
    def named(cls, properties: LoadBalancingProperties | None) -> 'Attached | None':
        """Return the load balancer that the properties name; None without one, or without
        properties.
        """
        if properties is None:
            return None
        name, pool_id = properties.loadbalancer, properties.pool.id
        return None if name is None or pool_id is None else cls(name, pool_id, preexisting=True)

    def unseen(self, driver: Driver, tags: Sequence[str]) -> Pool:
        """The pool, for what is to be told of it where it cannot be opened."""
        return Pool(driver, self.loadbalancer, self.pool, None, tags)

    def opened(
        self, driver: Driver, tags: Sequence[str], cluster: Cluster, subnet_id: str | None = None
    ) -> Pool:
        """The pool, to be driven.

        :raises LoadBalancerFailed: Octavia does not tell which load balancer it is of.
        """
        lb_id = self.loadbalancer
        if self.preexisting:  # Senlin has stored what the properties say, which may be a name
            try:
                shown = load_balancers.named(driver, lb_id)
            except ApiError as exc:
                raise LoadBalancerFailed(told(exc)) from exc
            lb_id = shown['id'] if shown else lb_id
        return Pool(driver, lb_id, self.pool, subnet_id, tags, ids_of(cluster))


@dataclass(frozen=True, slots=True)
class Attaching:
    """One attachment."""

    properties: LoadBalancingProperties
    request: BindRequest
    state: State
    driver: Driver

    def run(self) -> BindingOutcome:
        """Make a load balancer, or take one that is there, and add all nodes; if that fails,
        nothing of it is left.

        :raises Rejected: it cannot be done.
        """
        try:
            fill = self._filling()
            if self._to_existing:
                balancer = self._existing()
                nodes = fill(balancer)
            else:
                balancer, nodes = load_balancers.ensure(self.driver, self._layout(), fill)
            self._refuse_late()
        except (ApiError, Rejected) as exc:
            raise self._undone(exc) from exc
        return self._bond(balancer, nodes)

    @property
    def _tags(self) -> list[str]:
        return load_balancers.tags_of(self.request.cluster.id, self.request.policy.id)

    @property
    def _to_existing(self) -> bool:
        return self.properties.loadbalancer is not None

    def _filling(self) -> Callable[[Balancer], Mapping[str, NodePatch]]:
        """What adds all nodes to a pool, and says what becomes of them: node id -> patch.

        :raises Rejected: some cannot be members, which is told before anything is made.
        """
        nodes = self.request.cluster.nodes
        sought = Sought.of(self.state, self.request.cluster, self.properties)
        members, homeless = sought.members(nodes, self.state)
        if homeless:
            raise LoadBalancerFailed(membership.summary(NOT_ADDED, homeless), {'failed': homeless})
        of_nodes = {member.node_id: member for member in members}

        def fill(balancer: Balancer) -> Mapping[str, NodePatch]:
            if not nodes:
                return {}
            ids = ids_of(self.request.cluster)
            pool = Pool(
                self.driver,
                balancer.load_balancer,
                balancer.pool,
                sought.subnet.id,
                self._tags,
                ids,
            )
            joined = membership.join(
                pool,
                self.state,
                nodes,
                lambda missing: ([of_nodes[node.id] for node in missing], {}),
            )
            return joined.nodes

        return fill

    def _refuse_late(self) -> None:
        """What nobody waits for any more nobody would detach either."""
        if self.state.left_s() <= 0:
            raise RequestExpired('Request expired')

    def _undone(self, exc: ApiError | Rejected) -> Rejected:
        """The error to be raised when everything is removed again: also what a worker that died has
        made for it.
        """
        said = reason(exc)
        if self._is_to_be_undone(exc):
            try:
                self._undo(self.driver.undoing())
            except (ApiError, Rejected) as left:
                made = (
                    'was made for it'
                    if self.driver.tally.writes
                    else 'an earlier try may have made'
                )
                return LoadBalancerFailed(
                    f'{said}; what {made} could not be removed: {reason(left)}'
                )
        return RequestExpired(said) if isinstance(exc, RequestExpired) else LoadBalancerFailed(said)

    def _is_to_be_undone(self, exc: ApiError | Rejected) -> bool:
        """Not what the engine knows to be attached, nor, past the time, what others may have
        attached anew.
        """
        if Attached.of(self.request.policy) is not None:
            return False
        return not isinstance(exc, RequestExpired) or bool(self.driver.tally.writes)

    def _undo(self, driver: Driver) -> None:
        """Remove what carries the tags.

        :raises Rejected: something stays.
        :raises ApiError: Octavia refuses.
        """
        if not self._to_existing:
            load_balancers.remove(driver, self._tags)
            return
        pool_id = self.properties.pool.id or ''
        pool = load_balancers.shown(driver, 'pool', pool_id)
        for parent in pool.get('loadbalancers') or () if pool else ():
            Pool(driver, parent['id'], pool_id, None, self._tags).clear()

    def _existing(self) -> Balancer:
        """The load balancer and the pool that the properties name.

        :raises InvalidInput: they are not there, or do not belong together.
        """
        name, pool_id = self.properties.loadbalancer or '', self.properties.pool.id or ''
        monitor = self.properties.health_monitor.id if self.properties.health_monitor else None
        try:
            balancer = load_balancers.named(self.driver, name)
            pool = load_balancers.shown(self.driver, 'pool', pool_id)
            if (
                monitor is not None
                and load_balancers.shown(self.driver, 'healthmonitor', monitor) is None
            ):
                raise InvalidInput(f'The cloud has no health monitor {monitor}.')
        except ApiError as exc:
            raise LoadBalancerFailed(told(exc)) from exc
        if balancer is None:
            raise InvalidInput(f'The cloud has no load balancer {name}.')
        if pool is None or balancer['id'] not in {
            parent['id'] for parent in pool.get('loadbalancers') or ()
        }:
            raise InvalidInput(f'Load balancer {name} has no pool {pool_id}.')
        listener = next((one['id'] for one in pool.get('listeners') or ()), None)
        return Balancer(balancer['id'], listener, pool_id, monitor, balancer.get('vip_address'))

    def _layout(self) -> Layout:
        """What is to be made.

        :raises InvalidInput: the cloud has no such subnet or network.
        """
        properties, request = self.properties, self.request
        pool, vip = properties.pool, properties.vip
        placed = {
            'availability_zone': properties.availability_zone,
            'flavor_id': properties.flavor_id,
        }
        return Layout(
            name=f'placement-worker-{request.cluster.name or request.cluster.id}'[:NAME_LENGTH],
            tags=self._tags,
            load_balancer=_given(
                {
                    **self._vip(),
                    'vip_address': vip.address,
                    'admin_state_up': vip.admin_state_up,
                    **placed,
                }
            ),
            listener={
                'protocol': vip.protocol,
                'protocol_port': vip.protocol_port,
                'connection_limit': vip.connection_limit,
                'admin_state_up': vip.admin_state_up,
            },
            pool=_given(
                {
                    'protocol': pool.protocol,
                    'lb_algorithm': pool.lb_method,
                    'admin_state_up': pool.admin_state_up,
                    'session_persistence': _persistence(pool.session_persistence),
                }
            ),
            monitor=_monitor(properties.health_monitor) if properties.health_monitor else None,
        )

    def _vip(self) -> dict[str, str]:
        """Where the VIP is to be."""
        region, vip = self.request.cluster.profile.region, self.properties.vip
        found: dict[str, str] = {}
        for key, name, look_up in (
            ('vip_subnet_id', vip.subnet, self.state.cloud.subnet),
            ('vip_network_id', vip.network, self.state.cloud.network),
        ):
            if name is not None:
                place = look_up(region, name)
                if place is None:
                    raise InvalidInput(
                        f'The cloud has no {key[4:-3]} {name}, which the VIP is to be of.'
                    )
                found[key] = place.id
        return found

    def _bond(self, balancer: Balancer, nodes: Mapping[str, NodePatch]) -> BindingOutcome:
        policy, cluster = self.request.policy, self.request.cluster
        made = {
            'loadbalancer': balancer.load_balancer,
            'listener': balancer.listener,
            'pool': balancer.pool,
            'healthmonitor': balancer.monitor,
            'preexisting': self._to_existing or None,
        }
        version = float(policy.spec.type_name.rpartition('-')[2])
        before = cluster.data.get(IN_CLUSTER)
        entries = {
            **(before if isinstance(before, dict) else {}),
            policy.id: {'vip_address': balancer.vip_address},
        }
        return BindingOutcome(
            {**policy.data, STORED: {'version': version, 'data': _given(made)}},
            nodes,
            ClusterPatch({**cluster.data, IN_CLUSTER: entries}),
            warnings=self.properties.doubts(),
        )


def ids_of(cluster: Cluster) -> frozenset[str]:
    """The ids of the nodes of a cluster."""
    return frozenset(node.id for node in cluster.nodes)


def _persistence(wanted: SessionPersistence) -> dict[str, Any] | None:
    """Return what Octavia takes: it refuses a cookie's name with any type but APP_COOKIE."""
    if wanted.type == 'NONE':
        return None
    return _given(
        {
            'type': wanted.type,
            'cookie_name': wanted.cookie_name if wanted.type == 'APP_COOKIE' else None,
        }
    )


def _monitor(wanted: HealthMonitor) -> dict[str, Any]:
    """Return what Octavia takes: it refuses the options of HTTP with types that do not probe it."""
    dropped = ('id',) if wanted.probes_http else ('id', 'http_method', 'url_path', 'expected_codes')
    return _given(
        {key: value for key, value in msgspec.to_builtins(wanted).items() if key not in dropped}
    )


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None: Octavia's own defaults count there."""
    return {key: value for key, value in values.items() if value is not None}
