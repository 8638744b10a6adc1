"""The load-balancing policy: pools follow the cluster.

Before nodes die they leave the pool; after they were born they join it. What attaching made is
remembered in the binding's data, the member of a node in the node's data.

:source: seed 003; spec.md 5; Senlin's policies/lb_policy.py (the texts of failures and the stored
    data are its own).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from placement_worker.cloud.ports import ApiError, Cloud, OctaviaSettings
from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.model import (
    Binding,
    BindRequest,
    CheckRequest,
    Cluster,
    ClusterPatch,
    Node,
    NodePatch,
    SupportStatus,
)
from placement_worker.errors import (
    CloudUnavailable,
    InvalidInput,
    InvalidSpec,
    LoadBalancerFailed,
    NotAttached,
    Rejected,
)
from placement_worker.octavia import load_balancers
from placement_worker.octavia.pools import reason
from placement_worker.octavia.updater import Driver, told
from placement_worker.planning.size_warnings import excess_removal
from placement_worker.policies import victim_selection
from placement_worker.policies.base import (
    AFTER,
    BEFORE,
    BindingOutcome,
    Outcome,
    Policy,
    State,
    on,
    skipped,
)
from placement_worker.policies.load_balancing import members
from placement_worker.policies.load_balancing.attach import IN_CLUSTER, STORED, Attached, Attaching
from placement_worker.policies.load_balancing.members import (
    MEMBER,
    NOT_ADDED,
    NOT_REMOVED,
    Joining,
    Sought,
)
from placement_worker.policies.load_balancing.properties import (
    STATUS_TIMEOUT_S,
    LoadBalancingProperties,
)

RECREATED = 'RECREATE'
"""What a node's data say under `recovery` if it has another server now."""
REGARDLESS_OF_MIN_SIZE = (actions.CLUSTER_RESIZE, actions.CLUSTER_REPLACE_NODES)


class LoadBalancing(Policy[LoadBalancingProperties]):
    """Keep the members of a pool in step with the nodes of a cluster."""

    name = 'senlin.policy.loadbalance'
    versions = dict.fromkeys(('1.0', '1.1', '1.2', '1.3'), LoadBalancingProperties)
    support_status = {
        '1.0': [SupportStatus('SUPPORTED', '2016.04')],
        '1.1': [SupportStatus('SUPPORTED', '2018.01')],
        '1.2': [SupportStatus('SUPPORTED', '2020.02')],
        '1.3': [SupportStatus('SUPPORTED', '2020.03')],
    }
    priority = 500
    targets = on(
        BEFORE,
        actions.CLUSTER_SCALE_IN,
        actions.CLUSTER_RESIZE,
        actions.CLUSTER_DEL_NODES,
        actions.CLUSTER_REPLACE_NODES,
        actions.NODE_DELETE,
    ) | on(
        AFTER,
        actions.CLUSTER_SCALE_OUT,
        actions.CLUSTER_RESIZE,
        actions.CLUSTER_ADD_NODES,
        actions.CLUSTER_REPLACE_NODES,
        actions.NODE_CREATE,
        actions.NODE_RECOVER,
    )
    profile_types = frozenset({'os.nova.server-1.0'})
    stored_as = STORED
    after = frozenset(
        {'senlin.policy.region_placement', 'senlin.policy.zone_placement', 'senlin.policy.deletion'}
    )
    looking: ClassVar[OctaviaSettings] = OctaviaSettings(max_attempts=3)
    """How Octavia is asked when a spec is validated: no load balancer is waited for then, but
    somebody waits.
    """

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Take nodes out of the pool before they die, or add those that are new.

        :raises LoadBalancerFailed: some could not be; `nodes` of the error says which.
        :raises NotAttached: the binding does not say which pool.
        :raises InvalidInput: inputs or data of the action are not what they have to be.
        :raises RequestExpired: the caller waits no more.
        """
        return (
            self._leave(request, state) if request.target == BEFORE else self._join(request, state)
        )

    def _leave(self, request: CheckRequest, state: State) -> Outcome:
        if state.data.get('hooks'):
            return skipped('The engine takes the nodes out of the pool after its lifecycle hooks.')
        named = _leaving(request, state)
        victim_selection.check_members(named or (), request.cluster)
        count = len(named) if named is not None else _deleted(request, state)
        if not count:
            return skipped('No node is to be deleted.')
        fewest = request.cluster.min_size
        if (
            len(request.cluster.nodes) - count < fewest
            and request.action.action not in REGARDLESS_OF_MIN_SIZE
        ):
            return skipped(f'The engine will refuse to leave fewer than min_size ({fewest}) nodes.')
        data = None
        warnings: tuple[str, ...] = ()
        if named is None:
            warnings = excess_removal(state.size(request), request.cluster)
            named = [
                node.id
                for node in victim_selection.choose(request, state, count, 'RANDOM')[0].victims
            ]
            chosen = state.action_data.deletion.updated(count=len(named), candidates=named)
            data = {**state.data, DELETION: chosen}
        nodes, _ = _found(request, named)
        attached, binding = _attached(state)
        tags = load_balancers.tags_of(request.cluster.id, binding.id)
        driver = self._driver(state, request.cluster, request.action.id)
        with members.looking(
            attached.unseen(driver, tags), state, nodes, NOT_REMOVED, dry_run=request.dry_run
        ):
            pool = attached.opened(driver, tags, request.cluster)
        alone = not attached.preexisting and request.action.action not in actions.OF_A_NODE
        outcome = members.leave(
            pool,
            state,
            nodes,
            lambda lost: Sought.of(state, request.cluster, self.properties).members(lost, state),
            alone=alone,
            dry_run=request.dry_run,
        )
        return replace(outcome, data=data, warnings=(*outcome.warnings, *warnings))

    def _join(self, request: CheckRequest, state: State) -> Outcome:
        if request.action.inputs.get('action_result') not in (None, 'OK'):
            return skipped('The action did not succeed.')
        joining = _joining(request, state)
        if not joining:
            return skipped('No node was created.')
        nodes, strangers = _found(request, joining)
        recovered = request.action.action == actions.NODE_RECOVER
        if recovered and not _created_anew(state, nodes[0]):
            patch = members.changed(state, nodes[0], ('recovery',))
            return replace(
                skipped('The node is in the pool, and was not created anew.'), nodes=patch
            )
        attached, binding = _attached(state)
        tags = load_balancers.tags_of(request.cluster.id, binding.id)
        driver = self._driver(state, request.cluster, request.action.id)
        how: Joining = {'strangers': strangers, 'recovered': recovered, 'dry_run': request.dry_run}
        with members.looking(attached.unseen(driver, tags), state, nodes, NOT_ADDED, **how):
            sought = Sought.of(state, request.cluster, self.properties)
            pool = attached.opened(driver, tags, request.cluster, sought.subnet.id)
        return members.join(
            pool, state, nodes, lambda missing: sought.members(missing, state), **how
        )

    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Make the load balancer, or take the one that is there, and add all nodes.

        :raises Rejected: it cannot be done; what was made for it is removed again.
        """
        driver = self._driver(state, request.cluster, request.policy.id)
        return Attaching(self.properties, request, state, driver).run()

    def detach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Delete the load balancer, or take the nodes out of the one that was there before.

        :raises Rejected: something cannot be removed.
        """
        attached = Attached.of(request.policy) or Attached.named(self.properties)
        driver = self._driver(state, request.cluster, request.policy.id)
        tags = load_balancers.tags_of(request.cluster.id, request.policy.id)
        try:
            if attached is not None and attached.preexisting:
                pool = attached.opened(driver, tags, request.cluster)
                members.leave(pool, state, request.cluster.nodes, lambda _: ([], {}), alone=False)
                pool.clear()  # with what nodes have left that are no more
            else:
                load_balancers.remove(driver, tags, [attached.loadbalancer] if attached else [])
        except (ApiError, LoadBalancerFailed) as exc:
            raise LoadBalancerFailed(
                reason(exc), nodes=exc.nodes if isinstance(exc, Rejected) else {}
            ) from exc
        nodes: dict[str, NodePatch] = {}
        for node in request.cluster.nodes:
            nodes |= members.changed(state, node, (MEMBER,))
        data = {key: value for key, value in request.policy.data.items() if key != STORED}
        return BindingOutcome(data, nodes, _without_vip(request))

    def check_resources(self, cloud: Cloud) -> None:
        """As `Policy.check_resources`: subnets and network, the load balancer with its parts,
        flavor, zone.
        """
        properties = self.properties
        driver = Driver(
            cloud.octavia(None), self.looking, properties.lb_status_timeout, lambda: math.inf, ''
        )
        monitor = properties.health_monitor.id if properties.health_monitor else None
        look_ups: list[tuple[str, str | None, Callable[[str], object]]] = [
            ('pool.subnet', properties.pool.subnet, lambda name: cloud.subnet(None, name)),
            ('vip.subnet', properties.vip.subnet, lambda name: cloud.subnet(None, name)),
            ('vip.network', properties.vip.network, lambda name: cloud.network(None, name)),
            (
                'loadbalancer',
                properties.loadbalancer,
                lambda name: load_balancers.named(driver, name),
            ),
            (
                'pool.id',
                properties.pool.id,
                lambda name: load_balancers.shown(driver, 'pool', name),
            ),
            (
                'health_monitor.id',
                monitor,
                lambda name: load_balancers.shown(driver, 'healthmonitor', name),
            ),
            (
                'flavor_id',
                properties.flavor_id,
                lambda name: load_balancers.shown(driver, 'flavor', name),
            ),
            (
                'availability_zone',
                properties.availability_zone,
                lambda name: load_balancers.shown(driver, 'availability_zone', name),
            ),
        ]
        try:
            missing = [
                f'{at} `{name}`'
                for at, name, look_up in look_ups
                if name is not None and not _is_there(look_up, name)
            ]
        except ApiError as exc:
            raise CloudUnavailable(told(exc)) from exc
        if missing:
            raise InvalidSpec(f'The cloud has no {", no ".join(missing)}.')

    def _driver(self, state: State, cluster: Cluster, seed: str) -> Driver:
        properties: LoadBalancingProperties | None = self.properties
        timeout_s = properties.lb_status_timeout if properties else STATUS_TIMEOUT_S
        return Driver(
            state.cloud.octavia(cluster.profile.region),
            state.cloud.octavia_settings,
            timeout_s,
            state.left_s,
            seed,
        )


def _is_there(look_up: Callable[[str], object], name: str) -> bool:
    """Whether there is something of the name; of several the owner of a cluster may see only
    one.
    """
    try:
        return bool(look_up(name))
    except InvalidInput:
        return True


def _attached(state: State) -> tuple[Attached, Binding]:
    """What attaching stored, and where.

    :raises NotAttached: nothing is there.
    """
    attached = Attached.of(state.binding)
    if attached is None or state.binding is None:
        raise NotAttached(
            'The binding holds no load balancer: attach the policy before it is checked.'
        )
    return attached, state.binding


def _leaving(request: CheckRequest, state: State) -> list[str] | None:
    """The nodes that are named as leaving; None if nobody has chosen."""
    action = request.action
    if action.action == actions.CLUSTER_REPLACE_NODES:
        return list(action.replace_inputs.candidates)
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    chosen = state.action_data.deletion.candidates
    if chosen is not None:
        return chosen
    named = action.candidate_inputs.candidates
    return [] if named is None and action.action == actions.CLUSTER_DEL_NODES else named


def _deleted(request: CheckRequest, state: State) -> int:
    """How many nodes the action deletes, where it is left to us which."""
    size = state.size(request)
    return min(size.count, len(request.cluster.nodes)) if size.kind == DELETION else 0


def _joining(request: CheckRequest, state: State) -> list[str]:
    """The nodes that may be new in the pool."""
    action = request.action
    if action.action in actions.OF_A_NODE and action.node:
        return [action.node.id]
    if action.action == actions.CLUSTER_REPLACE_NODES:
        return list(action.replace_inputs.candidates.values())
    return state.action_data.creation.nodes


def _created_anew(state: State, node: Node) -> bool:
    """Whether a node that was recovered has to be added: it was no member, or has another server
    now.
    """
    data = state.node_data(node)
    return not data.get(MEMBER) or data.get('recovery') == RECREATED


def _found(request: CheckRequest, node_ids: Iterable[str]) -> tuple[list[Node], list[str]]:
    """The nodes of these ids, and the ids of which there is none; what the action says of its own
    node counts.
    """
    known = {node.id: node for node in request.cluster.nodes}
    if request.action.node is not None:
        known[request.action.node.id] = request.action.node
    wanted = list(node_ids)
    return [known[node_id] for node_id in wanted if node_id in known], [
        one for one in wanted if one not in known
    ]


def _without_vip(request: BindRequest) -> ClusterPatch | None:
    """The cluster's data without what attaching put there; None if there is nothing of it."""
    entries = request.cluster.data.get(IN_CLUSTER)
    if not isinstance(entries, dict) or request.policy.id not in entries:
        return None
    left = {key: value for key, value in entries.items() if key != request.policy.id}
    data = {key: value for key, value in request.cluster.data.items() if key != IN_CLUSTER}
    return ClusterPatch({**data, IN_CLUSTER: left} if left else data)
