"""Attach and detach a load balancer: find or create it, fill it, remove it.

A policy has a load balancer of its own, or uses the preexisting one that its properties name. The
reply with the ids for the binding may be lost; attaching and detaching therefore find objects by
their tags. Attaching again repairs what was changed since. A failed first attachment is undone,
because no binding would name the objects that are left. Senlin may have stored a spec that is
invalid here, so detaching looks for the load balancer in the properties only if the binding's data
name none.

:source: senlin/policies/lb_policy.py of Senlin 16, for the stored data.
"""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from placement_worker.cloud.ports import ApiError, Cloud, OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract.model import BindRequest, Cluster, ClusterPatch, Node, NodePatch
from placement_worker.contract.values import mapping_or_empty
from placement_worker.errors import (
    CloudUnavailable,
    InvalidInput,
    InvalidSpec,
    LoadBalancerFailed,
    LoadBalancerGone,
    Rejected,
    RequestExpired,
)
from placement_worker.formats.text import listed, shortened
from placement_worker.octavia.load_balancers import (
    Layout,
    LoadBalancer,
    OwnLoadBalancers,
    find_load_balancer,
    find_object,
    parents_of,
    tags_of,
)
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater, cause
from placement_worker.policies.base import PROPERTIES, BindingOutcome, Outcome, State
from placement_worker.policies.load_balancing.attached_pool import (
    IN_CLUSTER,
    STORED,
    AttachedPool,
    MemberRecords,
    StoredLoadBalancer,
    updater_for,
)
from placement_worker.policies.load_balancing.member_change import (
    MemberAddition,
    MemberRemoval,
    failure_text,
    node_patch,
)
from placement_worker.policies.load_balancing.node_addresses import AddressLookup, Located
from placement_worker.policies.load_balancing.properties import (
    HealthMonitor,
    LoadBalancingProperties,
    SessionPersistence,
    Vip,
)

# Stands in `MemberRecords.others` for a policy whose id is unknown.
UNNAMED_POLICY = ''
# The number of attempts if other workers replace the load balancer.
_ATTEMPTS = 5
# The longest name that Octavia accepts.
_NAME_LENGTH = 255
# For validation: a user waits for the result, and no load balancer changes.
_LOOKUP_SETTINGS = OctaviaSettings(max_attempts=3)


@dataclass(frozen=True, slots=True)
class Attachment:
    properties: LoadBalancingProperties
    request: BindRequest
    state: State
    updater: Updater

    def run(self) -> BindingOutcome:
        try:
            lookup = AddressLookup(self.state.cloud, self.properties.pool)
            located = self._located(lookup)
            subnet_id = lookup.subnet.id
            if self._is_preexisting:
                balancer = self._find_preexisting()
                addition = self._fill(balancer, located, subnet_id)
            else:
                balancer, addition = self._ensure_filled(located, subnet_id)
            # An attachment that completes after its request expires leaks a load balancer.
            self.updater.budget.check_expiry()
        except (ApiError, Rejected) as exc:
            raise self._undo(exc) from exc
        return BindingOutcome(
            self._binding_data(balancer),
            addition.nodes,
            self._cluster_with_vip(balancer.vip_address),
            warnings=[
                *self.properties.doubtful_values(),
                *addition.warnings,
                *self._repair_warnings(balancer, addition),
            ],
        )

    @property
    def _tags(self) -> Sequence[str]:
        return tags_of(self.request.cluster.id, self.request.policy.id)

    @property
    def _stored(self) -> StoredLoadBalancer | None:
        """The load balancer of an attached policy; None at the first attachment."""
        return StoredLoadBalancer.in_binding(self.request.policy)

    @property
    def _is_preexisting(self) -> bool:
        return self.properties.loadbalancer is not None

    def _located(self, lookup: AddressLookup) -> Located:
        located = lookup.locate(self.request.cluster.nodes)
        if located.failed and self._stored is None:  # a repair continues with the other nodes
            text = failure_text(MemberAddition.failure, located.failed)
            raise LoadBalancerFailed(text, {'failed': located.failed})
        return located

    def _find_preexisting(self) -> LoadBalancer:
        properties, updater = self.properties, self.updater
        name, pool_id = properties.loadbalancer or '', properties.pool.id or ''
        monitor = properties.health_monitor.id if properties.health_monitor else None
        balancer = find_load_balancer(updater, name)
        pool = find_object(updater, 'pool', pool_id)
        if monitor is not None and find_object(updater, 'healthmonitor', monitor) is None:
            raise InvalidInput(f'The cloud has no health monitor {monitor}.')
        if balancer is None:
            raise InvalidInput(f'The cloud has no load balancer {name}.')
        if pool is None or balancer['id'] not in parents_of(pool):
            raise InvalidInput(f'Load balancer {name} has no pool {pool_id}.')
        listener = next((listener['id'] for listener in pool.get('listeners') or ()), None)
        return LoadBalancer(balancer['id'], listener, pool_id, monitor, balancer.get('vip_address'))

    def _ensure_filled(self, located: Located, subnet_id: str) -> tuple[LoadBalancer, Outcome]:
        layout = _layout(self.properties, self.request.cluster, self.state)
        known = self._stored.ids if self._stored and not self._stored.preexisting else {}
        own = OwnLoadBalancers(self.updater, self._tags, known)
        own.remove_failed()
        gone: LoadBalancerGone | None = None
        for _ in range(_ATTEMPTS):
            try:
                balancer = own.ensure(layout)
                with own.gone_if_replaced(balancer.id):
                    addition = self._fill(balancer, located, subnet_id)
                    own.confirm(balancer)
                return balancer, addition
            except LoadBalancerGone as exc:
                gone = exc
        raise LoadBalancerFailed(
            f'Other workers keep removing the load balancer {layout.name}: {gone}'
        ) from gone

    def _fill(self, balancer: LoadBalancer, located: Located, subnet_id: str) -> Outcome:
        cluster, is_attached = self.request.cluster, self._stored is not None
        # At a first attachment, any `lb_member` in a node's data was written by another policy.
        others = () if is_attached else (UNNAMED_POLICY,)
        attached = AttachedPool(
            StoredLoadBalancer(balancer.id, balancer.pool, self._is_preexisting),
            self.updater,
            self._tags,
            {node.id: node for node in cluster.nodes},
            MemberRecords.in_cluster(cluster, self.request.policy.id, others),
            # At a first attachment, another worker may handle a redelivery of this request.
            is_sole_writer=is_attached and not self._is_preexisting,
        )
        addition = MemberAddition(self.state, cluster.nodes, attached, repairs=True)
        # All nodes are located already, so no lookup is needed.
        return addition.run(attached.opened(subnet_id), lambda _: located)

    def _binding_data(self, balancer: LoadBalancer) -> dict[str, Any]:
        policy = self.request.policy
        # Senlin stores a number.
        version = float(policy.spec.type_name.rpartition('-')[2])
        preexisting = {'preexisting': True} if self._is_preexisting else {}
        data = {**balancer.ids, **preexisting}
        return {**policy.data, STORED: {'version': version, 'data': data}}

    def _cluster_with_vip(self, vip_address: str | None) -> ClusterPatch:
        data = self.request.cluster.data
        own = {self.request.policy.id: {'vip_address': vip_address}}
        return ClusterPatch({**data, IN_CLUSTER: {**mapping_or_empty(data.get(IN_CLUSTER)), **own}})

    def _repair_warnings(self, balancer: LoadBalancer, addition: Outcome) -> Iterator[str]:
        if self._stored is None:
            return
        ids = {} if self._is_preexisting else balancer.ids
        before = self._stored.ids
        changes = {
            'created again': [kind for kind in ids if before.get(kind) != ids[kind]],
            'added': addition.details.get('added'),
            'removed': addition.details.get('removed'),
        }
        texts = [f'{verb}: {listed(names, shortened)}' for verb, names in changes.items() if names]
        if texts:
            yield f'Attaching again repaired pool {balancer.pool} ({"; ".join(texts)})'

    def _undo(self, failure: ApiError | Rejected) -> Rejected:
        """Remove what this attachment created, and return the error to raise."""
        reason = cause(failure)
        has_expired = isinstance(failure, RequestExpired)
        has_written = bool(self.updater.statistics.writes)
        # The objects of a completed attachment stay. If this request expired before it wrote
        # anything, objects with its tags may belong to a later attachment by another worker.
        if self._stored is None and (has_written or not has_expired):
            try:
                budget = self.updater.budget.without_expiry()
                self._remove_all(replace(self.updater, budget=budget))
            except (ApiError, Rejected) as exc:
                objects = 'its objects' if has_written else 'possible objects of an earlier attempt'
                return LoadBalancerFailed(f'{reason}; {objects} could not be removed: {cause(exc)}')
        if has_expired:
            return RequestExpired(reason)
        # Only a repair changes the status of nodes: a first attachment is undone.
        nodes = failure.nodes if self._stored and isinstance(failure, Rejected) else {}
        return LoadBalancerFailed(reason, nodes=nodes)

    def _remove_all(self, updater: Updater) -> None:
        if not self._is_preexisting:
            OwnLoadBalancers(updater, self._tags).remove()
            return
        pool_id = self.properties.pool.id or ''
        pool = find_object(updater, 'pool', pool_id)
        for lb_id in parents_of(pool) if pool else ():
            Pool(updater, lb_id, pool_id, self._tags).clear()


def detach(
    properties: LoadBalancingProperties | None, request: BindRequest, state: State
) -> BindingOutcome:
    """Remove all that attaching has created: the load balancer, or the members.

    Objects with the tags of the policy are removed also if the binding stores no load balancer.

    :param properties: None if the spec is not valid.
    :raises LoadBalancerFailed: an object is still present.
    """
    cluster, binding = request.cluster, request.policy
    stored = StoredLoadBalancer.in_binding(binding) or _preexisting_in(properties)
    updater, tags = updater_for(properties, state, binding.id), tags_of(cluster.id, binding.id)
    records = MemberRecords.in_cluster(cluster, binding.id)
    known_ids: Collection[str] = ()
    try:
        if stored is not None:
            nodes = {node.id: node for node in cluster.nodes}
            attached = AttachedPool(stored, updater, tags, nodes, records)
            known_ids = _leave_pool(attached, cluster.nodes, state)
        if stored is None or not stored.preexisting:
            OwnLoadBalancers(updater, tags, stored.ids if stored else {}).remove()
    except (ApiError, LoadBalancerFailed) as exc:
        marked = exc.nodes if isinstance(exc, Rejected) else {}
        raise LoadBalancerFailed(cause(exc), nodes=marked) from exc
    patches: dict[str, NodePatch] = {}
    for node in cluster.nodes:
        patches |= node_patch(state, node, records.updated(node.data, known_ids))
    data = {key: value for key, value in binding.data.items() if key != STORED}
    return BindingOutcome(data, patches, cluster_without_vip(request))


def _preexisting_in(properties: LoadBalancingProperties | None) -> StoredLoadBalancer | None:
    if properties is None or not (properties.loadbalancer and properties.pool.id):
        return None
    return StoredLoadBalancer(properties.loadbalancer, properties.pool.id, preexisting=True)


def _leave_pool(attached: AttachedPool, nodes: Sequence[Node], state: State) -> Collection[str]:
    """Remove the members from a preexisting pool; an own pool is deleted with its load balancer.

    :returns: the ids of this policy's members: only these are deleted from the nodes' data, not
        those of other policies.
    """
    pool, is_preexisting = attached.opened(), attached.stored.preexisting
    members = pool.members() if is_preexisting or attached.records.others else None
    if is_preexisting:
        # `clear` removes what is left by its tags, e.g. of deleted nodes, so no address is needed.
        MemberRemoval(state, nodes, attached).run(pool, lambda _: Located())
        pool.clear()
    return members.managed if members else ()


def cluster_without_vip(request: BindRequest) -> ClusterPatch | None:
    entries = mapping_or_empty(request.cluster.data.get(IN_CLUSTER))
    if request.policy.id not in entries:
        return None
    left = {key: value for key, value in entries.items() if key != request.policy.id}
    data = {key: value for key, value in request.cluster.data.items() if key != IN_CLUSTER}
    return ClusterPatch({**data, IN_CLUSTER: left} if left else data)


def check_named_resources(properties: LoadBalancingProperties, cloud: Cloud) -> None:
    try:
        missing = list(_missing(properties, cloud))
    except ApiError as exc:
        raise CloudUnavailable(cause(exc)) from exc
    if missing:
        wrong = ', '.join(f'no {path} `{name}`' for path, name in missing)
        raise InvalidSpec(f'The cloud has {wrong} - at `{PROPERTIES}.{missing[0][0]}`')


def _missing(properties: LoadBalancingProperties, cloud: Cloud) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each property whose resource does not exist.

    An ambiguous name counts as existing: the owner of the policy may see only one of the
    resources.
    """
    pool, vip, balancer = properties.pool, properties.vip, properties.loadbalancer
    budget = TimeBudget(properties.lb_status_timeout, _LOOKUP_SETTINGS.clock)
    updater = Updater(cloud.octavia(None), _LOOKUP_SETTINGS, budget, '')
    monitor = properties.health_monitor.id if properties.health_monitor else None
    show = partial(find_object, updater)
    for path, name, look_up in (
        ('pool.subnet', pool.subnet, partial(cloud.subnet, None)),
        ('vip.subnet', vip.subnet, partial(cloud.subnet, None)),
        ('vip.network', vip.network, partial(cloud.network, None)),
        ('loadbalancer', balancer, partial(find_load_balancer, updater)),
        ('pool.id', pool.id, partial(show, 'pool')),
        ('health_monitor.id', monitor, partial(show, 'healthmonitor')),
        ('flavor_id', properties.flavor_id, partial(show, 'flavor')),
        ('availability_zone', properties.availability_zone, partial(show, 'availability_zone')),
    ):
        with contextlib.suppress(InvalidInput):
            if name is not None and look_up(name) is None:
                yield path, name


def _layout(properties: LoadBalancingProperties, cluster: Cluster, state: State) -> Layout:
    pool, vip, monitor = properties.pool, properties.vip, properties.health_monitor
    return Layout(
        name=f'placement-worker-{cluster.name or cluster.id}'[:_NAME_LENGTH],
        load_balancer={
            **_vip_location(vip, state),
            'vip_address': vip.address,
            'admin_state_up': vip.admin_state_up,
            'availability_zone': properties.availability_zone,
            'flavor_id': properties.flavor_id,
        },
        listener={
            'protocol': vip.protocol,
            'protocol_port': vip.protocol_port,
            'connection_limit': vip.connection_limit,
            'admin_state_up': vip.admin_state_up,
        },
        pool={
            'protocol': pool.protocol,
            'lb_algorithm': pool.lb_method,
            'admin_state_up': pool.admin_state_up,
            'session_persistence': _persistence(pool.session_persistence),
        },
        monitor=_monitor(monitor) if monitor else None,
    )


def _vip_location(vip: Vip, state: State) -> dict[str, str]:
    location: dict[str, str] = {}
    for kind, name, look_up in (
        ('subnet', vip.subnet, state.cloud.subnet),
        ('network', vip.network, state.cloud.network),
    ):
        if name is not None:
            resource = look_up(name)
            if resource is None:
                raise InvalidInput(
                    f'{kind.capitalize()} {name} of `vip.{kind}` does not exist in the cloud.'
                )
            location[f'vip_{kind}_id'] = resource.id
    return location


def _persistence(wanted: SessionPersistence) -> dict[str, Any] | None:
    """Return the session persistence; Octavia refuses a cookie name with other types."""
    if wanted.type == 'NONE':
        return None
    cookie = {'cookie_name': wanted.cookie_name} if wanted.type == 'APP_COOKIE' else {}
    return {'type': wanted.type, **cookie}


def _monitor(wanted: HealthMonitor) -> dict[str, Any]:
    """Return the health monitor; Octavia refuses options of HTTP with other types."""
    dropped = ('id',) if wanted.probes_http else ('id', 'http_method', 'url_path', 'expected_codes')
    return {key: value for key, value in msgspec.to_builtins(wanted).items() if key not in dropped}
