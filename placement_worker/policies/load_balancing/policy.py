"""The load-balancing policy: the members of a pool follow the nodes of a cluster.

The policy removes members before their nodes are deleted and adds members after nodes are created.
The binding's data holds the ids of the load balancer, a node's data the id of its member.

:source: senlin/policies/lb_policy.py of Senlin 16, for the stored data and the texts of failures.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.model import (
    BindRequest,
    CheckRequest,
    Cluster,
    Node,
    SupportStatus,
)
from placement_worker.errors import NotAttached
from placement_worker.octavia.layout import tags_of
from placement_worker.octavia.updater import Updater
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
from placement_worker.policies.load_balancing import named_resources, selection
from placement_worker.policies.load_balancing.attach import Attachment
from placement_worker.policies.load_balancing.detach import detach
from placement_worker.policies.load_balancing.member_addition import MemberAddition
from placement_worker.policies.load_balancing.member_removal import MemberRemoval
from placement_worker.policies.load_balancing.node_addresses import AddressLookup, LateLookup
from placement_worker.policies.load_balancing.node_patches import NodeChange, patches
from placement_worker.policies.load_balancing.properties import (
    STATUS_TIMEOUT_S,
    LoadBalancingProperties,
)
from placement_worker.policies.load_balancing.stored import STORED, StoredLoadBalancer

REGARDLESS_OF_MIN_SIZE = (actions.CLUSTER_RESIZE, actions.CLUSTER_REPLACE_NODES)
"""The actions that the engine does not refuse below min_size."""


class LoadBalancing(Policy[LoadBalancingProperties]):
    """Keep the members of a pool equal to the nodes of a cluster."""

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

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        if request.target == BEFORE:
            return self._remove_members(request, state)
        return self._add_members(request, state)

    @override
    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        updater = self._updater(state, request.cluster, request.policy.id)
        tags = tags_of(request.cluster.id, request.policy.id)
        return Attachment(self.properties, request, state, updater, tags).run()

    @override
    def detach(self, request: BindRequest, state: State) -> BindingOutcome:
        attached = StoredLoadBalancer.of(request.policy) or StoredLoadBalancer.named(
            self.properties
        )
        updater = self._updater(state, request.cluster, request.policy.id)
        return detach(attached, request, state, updater)

    @override
    def check_resources(self, cloud: Cloud) -> None:
        named_resources.check(self.properties, cloud)

    def _remove_members(self, request: CheckRequest, state: State) -> Outcome:
        if state.data.get('hooks'):
            return skipped('The engine takes the nodes out of the pool after its lifecycle hooks.')
        named = selection.to_remove(request, state)
        victim_selection.check_members(named or (), request.cluster)
        count = len(named) if named is not None else selection.deleted_count(request, state)
        if not count:
            return skipped('No node is to be deleted.')
        min_size = request.cluster.min_size
        if (
            len(request.cluster.nodes) - count < min_size
            and request.action.action not in REGARDLESS_OF_MIN_SIZE
        ):
            return skipped(
                f'The engine will refuse to leave fewer than min_size ({min_size}) nodes.'
            )
        if named is not None:
            return self._remove_members_of(selection.find(request, named)[0], request, state)
        victims = victim_selection.choose(request, state, count, 'RANDOM')[0].victims
        ids = [node.id for node in victims]
        outcome = self._remove_members_of(selection.find(request, ids)[0], request, state)
        warnings = (*outcome.warnings, *excess_removal(state.size(request), request.cluster))
        return replace(outcome, data=_with_candidates(state, ids), warnings=warnings)

    def _remove_members_of(
        self, nodes: Sequence[Node], request: CheckRequest, state: State
    ) -> Outcome:
        attached, tags, updater = self._attached(request, state)
        alone = not attached.preexisting and request.action.action not in actions.OF_A_NODE
        removal = MemberRemoval(state, nodes, request.dry_run, alone)
        with removal.all_failed_on_error(attached.pool_id, updater.statistics):
            pool = attached.pool(updater, tags, request.cluster)
        return removal.run(pool, LateLookup(state, request.cluster, self.properties))

    def _add_members(self, request: CheckRequest, state: State) -> Outcome:
        if request.action.inputs.get('action_result') not in (None, 'OK'):
            return skipped('The action did not succeed.')
        node_ids = selection.to_add(request, state)
        if not node_ids:
            return skipped('No node was created.')
        nodes, unknown_ids = selection.find(request, node_ids)
        recovered = request.action.action == actions.NODE_RECOVER
        if recovered and not selection.needs_new_member(state, nodes[0]):
            patch = patches(state, nodes[:1], {nodes[0].id: NodeChange(('recovery',))})
            return replace(
                skipped('The node is in the pool, and was not created again.'), nodes=patch
            )
        attached, tags, updater = self._attached(request, state)
        addition = MemberAddition(
            state, nodes, request.dry_run, unknown_ids=unknown_ids, recreated=recovered
        )
        with addition.all_failed_on_error(attached.pool_id, updater.statistics):
            lookup = AddressLookup.of(state, request.cluster, self.properties)
            pool = attached.pool(updater, tags, request.cluster, lookup.subnet.id)
        return addition.run(pool, lookup)

    def _attached(
        self, request: CheckRequest, state: State
    ) -> tuple[StoredLoadBalancer, list[str], Updater]:
        """Return the stored load balancer, its tags and an updater for it.

        :raises NotAttached: the binding holds no load balancer.
        """
        attached = StoredLoadBalancer.of(state.binding)
        if attached is None or state.binding is None:
            raise NotAttached(
                'The binding holds no load balancer: attach the policy before it is checked.'
            )
        tags = tags_of(request.cluster.id, state.binding.id)
        return attached, tags, self._updater(state, request.cluster, request.action.id)

    def _updater(self, state: State, cluster: Cluster, seed: str) -> Updater:
        properties: LoadBalancingProperties | None = self.properties
        timeout_s = properties.lb_status_timeout if properties else STATUS_TIMEOUT_S
        octavia = state.cloud.octavia(cluster.profile.region)
        settings = state.cloud.octavia_settings
        return Updater(octavia, settings, TimeBudget(timeout_s, settings.clock, state.left_s), seed)


def _with_candidates(state: State, node_ids: list[str]) -> dict[str, Any]:
    """Return the action's data with the chosen victims."""
    chosen = state.action_data.deletion.updated(count=len(node_ids), candidates=node_ids)
    return {**state.data, DELETION: chosen}
