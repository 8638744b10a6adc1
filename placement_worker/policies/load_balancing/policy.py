"""The load-balancing policy: the members of a pool follow the nodes of a cluster.

The policy removes members before their nodes are deleted and adds members after nodes are created.
The binding's data holds the ids of the load balancer, a node's data the id of its member.

:source: senlin/policies/lb_policy.py of Senlin 16, for the stored data and the texts of failures.
"""

from dataclasses import replace

from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.contract import actions
from placement_worker.contract.model import (
    BindRequest,
    CheckRequest,
    SupportStatus,
)
from placement_worker.octavia.load_balancers import tags_of
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
from placement_worker.policies.load_balancing import missing_keys, named_resources, selection
from placement_worker.policies.load_balancing.attach import Attachment
from placement_worker.policies.load_balancing.detach import detach
from placement_worker.policies.load_balancing.member_addition import MemberAddition
from placement_worker.policies.load_balancing.node_addresses import AddressLookup
from placement_worker.policies.load_balancing.node_patches import NodeChange, patches
from placement_worker.policies.load_balancing.node_removal import NodeRemoval
from placement_worker.policies.load_balancing.pool_access import PoolAccess, updater_for
from placement_worker.policies.load_balancing.properties import (
    NAME,
    VERSIONS,
    LoadBalancingProperties,
)
from placement_worker.policies.load_balancing.stored import STORED, StoredLoadBalancer
from placement_worker.policies.victim_selection import POOL_PROFILES


class LoadBalancing(Policy[LoadBalancingProperties]):
    """Keep the members of a pool equal to the nodes of a cluster."""

    name = NAME
    versions = VERSIONS
    support_status = {
        '1.0': [SupportStatus('SUPPORTED', '2016.04')],
        '1.1': [SupportStatus('SUPPORTED', '2018.01')],
        '1.2': [SupportStatus('SUPPORTED', '2020.02')],
        '1.3': [SupportStatus('SUPPORTED', '2020.03')],
        '1.4': [SupportStatus('SUPPORTED', '2026.11')],
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
    profile_types = POOL_PROFILES
    stored_as = STORED
    after = frozenset(
        {'senlin.policy.region_placement', 'senlin.policy.zone_placement', 'senlin.policy.deletion'}
    )

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        if request.target == BEFORE:
            return NodeRemoval(self.properties, request, state).run()
        return self._add_members(request, state)

    @override
    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        updater = updater_for(self.properties, state, request.cluster, request.policy.id)
        tags = tags_of(request.cluster.id, request.policy.id)
        return Attachment(self.properties, request, state, updater, tags).run()

    @override
    def detach(self, request: BindRequest, state: State) -> BindingOutcome:
        attached = StoredLoadBalancer.of(request.policy) or StoredLoadBalancer.named(
            self.properties
        )
        updater = updater_for(self.properties, state, request.cluster, request.policy.id)
        return detach(attached, request, state, updater)

    @override
    def check_resources(self, cloud: Cloud) -> None:
        named_resources.check(self.properties, cloud)

    def _add_members(self, request: CheckRequest, state: State) -> Outcome:
        if request.action.inputs.get('action_result') not in (None, 'OK'):
            return skipped('The action did not succeed.')
        node_ids = selection.to_add(request, state)
        if not node_ids:
            warnings = missing_keys.of_creation(request, state)
            return replace(skipped('No node was created.'), warnings=warnings)
        nodes, unknown_ids = selection.find(request, node_ids)
        recovered = request.action.action == actions.NODE_RECOVER
        if recovered and not selection.needs_new_member(state, nodes[0]):
            patch = patches(state, nodes[:1], {nodes[0].id: NodeChange(('recovery',))})
            return replace(
                skipped('The node is in the pool, and was not created again.'),
                nodes=patch,
                warnings=missing_keys.of_recovery(request),
            )
        access = PoolAccess.of(self.properties, request, state)
        addition = MemberAddition(
            state, nodes, request.dry_run, unknown_ids=unknown_ids, recreated=recovered
        )
        with addition.all_failed_on_error(access.stored.pool_id, access.updater.statistics):
            lookup = AddressLookup.of(state, request.cluster, self.properties)
            pool = access.pool(lookup.subnet.id)
        return addition.run(pool, lookup)
