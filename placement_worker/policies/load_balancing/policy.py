"""The load-balancing policy: the members of a pool follow the nodes of a cluster.

The policy removes members before their nodes are deleted and adds members after nodes are created.
The binding's data holds the ids of the load balancer, a node's data the id of its member.

:source: senlin/policies/lb_policy.py of Senlin 16.
"""

from msgspec import structs
from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.model import BindRequest, CheckRequest, SupportStatus
from placement_worker.contract.rpc import LOAD_BALANCING, SLOW_CHECKS
from placement_worker.errors import InvalidInput, InvalidSpec
from placement_worker.policies.base import (
    BEFORE,
    PROPERTIES,
    BindingOutcome,
    Outcome,
    Policy,
    State,
    skipped,
)
from placement_worker.policies.load_balancing.attached_pool import STORED, AttachedPool, updater_for
from placement_worker.policies.load_balancing.attachment import (
    Attachment,
    check_named_resources,
    detach,
)
from placement_worker.policies.load_balancing.member_change import (
    RECOVERY,
    RECREATED,
    UNKNOWN_NODE,
    MemberAddition,
)
from placement_worker.policies.load_balancing.node_addresses import AddressLookup
from placement_worker.policies.load_balancing.node_removal import NodeRemoval
from placement_worker.policies.load_balancing.properties import (
    VERSIONS,
    LoadBalancingProperties,
    properties_type,
)
from placement_worker.policies.victim_selection import POOL_PROFILES

NO_NODES = (
    'The request has no `action.data.creation.nodes`, so no node is added to the pool: list the '
    'ids of the created nodes there, or an empty list'
)
IN_POOL = 'The node is in the pool, and was not created again.'
NO_RECOVERY = (
    'The operation is RECREATE, but the node has no `data.recovery`, so its member in the pool '
    'stays: set it to RECREATE'
)
_ALWAYS_CREATING = (actions.CLUSTER_SCALE_OUT, actions.CLUSTER_ADD_NODES)


class LoadBalancing(Policy[LoadBalancingProperties]):
    name = LOAD_BALANCING
    versions = VERSIONS
    support_status = {
        '1.0': [SupportStatus('SUPPORTED', '2016.04')],
        '1.1': [SupportStatus('SUPPORTED', '2018.01')],
        '1.2': [SupportStatus('SUPPORTED', '2020.02')],
        '1.3': [SupportStatus('SUPPORTED', '2020.03')],
        '1.4': [SupportStatus('SUPPORTED', '2026.11')],
    }
    priority = 500
    targets = SLOW_CHECKS
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
        for path, reason in self.properties.refusals():
            raise InvalidInput(f'{reason} - at `{path}`')
        updater = updater_for(self.properties, state, request.policy.id)
        return Attachment(self.properties, request, state, updater).run()

    @override
    def detach(self, request: BindRequest, state: State) -> BindingOutcome:
        return detach(self.properties, request, state)

    @override
    def check_attachable(self) -> None:
        for path, reason in self.properties.refusals():
            raise InvalidSpec(f'{reason} - at `{PROPERTIES}.{path}`')

    @override
    def check_resources(self, cloud: Cloud) -> None:
        check_named_resources(self.properties, cloud)

    def _add_members(self, request: CheckRequest, state: State) -> Outcome:
        if request.action.inputs.get('action_result') not in (None, 'OK'):
            return skipped('The action did not succeed.')
        node_ids = _created(request, state)
        if not node_ids:
            warnings = _warnings_of_creation(request, state)
            return structs.replace(skipped('No node was created.'), warnings=warnings)
        attached = AttachedPool.for_check(self.properties, request, state)
        nodes = [attached.nodes[node_id] for node_id in node_ids if node_id in attached.nodes]
        unknown_ids = [node_id for node_id in node_ids if node_id not in attached.nodes]
        recovered = request.action.action == actions.NODE_RECOVER
        # The data of the request: an earlier policy of this check has not decided for this pool.
        is_recreated = recovered and nodes[0].data.get(RECOVERY) == RECREATED
        addition = MemberAddition(
            state,
            nodes,
            attached,
            request.dry_run,
            unknown_nodes=dict.fromkeys(unknown_ids, UNKNOWN_NODE),
            recreated=is_recreated,
            ends_recovery=recovered and _is_last(request, state),
        )
        lookup = AddressLookup(state.cloud, self.properties.pool)
        with addition.all_failed_on_error():
            pool = attached.opened(lookup.subnet.id)
        outcome = addition.run(pool, lookup.locate)
        has_changes = any(outcome.details[key] for key in ('added', 'removed', 'passed_over'))
        if not recovered or is_recreated or has_changes:
            return outcome
        warnings = [*outcome.warnings, *_warnings_of_recovery(request)]
        return structs.replace(outcome, outcome='SKIPPED', reason=IN_POOL, warnings=warnings)


def _created(request: CheckRequest, state: State) -> list[str]:
    action = request.action
    if action.action in actions.OF_A_NODE and action.node:
        return [action.node.id]
    if action.action == actions.CLUSTER_REPLACE_NODES:
        return list(action.replace_inputs.candidates.values())
    return state.action_data.creation.nodes


def _is_last(request: CheckRequest, state: State) -> bool:
    bindings = [
        binding
        for binding in request.policies
        if binding.enabled and properties_type(binding.spec.type_name)
    ]
    own = LoadBalancing.priority
    bindings.sort(key=lambda binding: own if binding.priority is None else binding.priority)
    return state.binding is not None and bindings[-1].id == state.binding.id


def _warnings_of_creation(request: CheckRequest, state: State) -> list[str]:
    action, creation = request.action, state.data.get(CREATION)
    if creation is None:
        return [NO_NODES] if action.action in _ALWAYS_CREATING else []
    return [] if 'nodes' in creation or creation.get('count') == 0 else [NO_NODES]


def _warnings_of_recovery(request: CheckRequest) -> list[str]:
    action = request.action
    is_recreated = action.inputs.get('operation') == RECREATED
    is_marked = action.node is not None and RECOVERY in action.node.data
    return [NO_RECOVERY] if is_recreated and not is_marked else []
