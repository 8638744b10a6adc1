"""The deletion policy, senlin.policy.deletion."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from typing_extensions import override

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.cluster import Node
from placement_worker.contract.model import CheckRequest, SupportStatus
from placement_worker.errors import NodeProtected
from placement_worker.planning import victims
from placement_worker.planning.protection import ALL_PROTECTED
from placement_worker.policies import victim_selection
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on, skipped

GENERATED = 'Candidates generated'
NODES_SHOWN = 10
"""The number of spared nodes, and of protected nodes, in the details of a decision."""
KEPT = 'chosen by an earlier policy'


class HookParams(Struct, frozen=True, forbid_unknown_fields=True):
    """The recipient of a hook's message."""

    queue: Annotated[str, Meta(description='Zaqar queue that receives the message.')] = ''
    url: Annotated[str, Meta(description='URL that receives the message.')] = ''


class Hooks(Struct, frozen=True, forbid_unknown_fields=True):
    """The message that the engine sends before it deletes a node; none by default."""

    type: Annotated[
        Literal['zaqar', 'webhook'], Meta(description='Type of the recipient of the message.')
    ] = 'zaqar'
    timeout: Annotated[
        int, Meta(ge=0, description='Seconds before the actual deletion happens.')
    ] = 0
    params: HookParams = HookParams()

    def __post_init__(self) -> None:
        if self.type == 'webhook' and not self.params.url:
            raise ValueError('Expected `params.url` for hooks of type `webhook`, got none')
        if self.type == 'zaqar' and not self.params.queue and (self.timeout or self.params.url):
            raise ValueError('Expected `params.queue` for hooks of type `zaqar`, got none')

    @property
    def configured(self) -> bool:
        """Whether there is a recipient."""
        return bool(self.params.queue or self.params.url)


class DeletionProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.deletion. Senlin accepts all of them in each version."""

    criteria: Annotated[victims.Criteria, Meta(description='Which nodes are deleted first.')] = (
        'RANDOM'
    )
    destroy_after_deletion: Annotated[
        bool, Meta(description='Whether a node is destroyed after it has left the cluster.')
    ] = True
    grace_period: Annotated[
        int, Meta(ge=0, description='Seconds before a node is actually deleted.')
    ] = 0
    reduce_desired_capacity: Annotated[
        bool, Meta(description="Whether the cluster's desired capacity shrinks with it.")
    ] = True
    hooks: Annotated[Hooks, Meta(description='Lifecycle hooks. New in 1.1.')] = Hooks()


class Deletion(Policy[DeletionProperties]):
    """Choose the nodes to delete.

    Nodes that an earlier policy chose stay chosen, and the criteria choose the rest. Nodes that the
    action names replace the choice by criteria. A check fails if a chosen or named node is not a
    member of the cluster or is protected, or if a place holds fewer nodes than placement policies
    planned to delete there. Protected nodes are never chosen.
    """

    name = 'senlin.policy.deletion'
    versions = dict.fromkeys(('1.0', '1.1'), DeletionProperties)
    support_status = {
        '1.0': [SupportStatus('SUPPORTED', '2016.04')],
        '1.1': [SupportStatus('SUPPORTED', '2018.01')],
    }
    priority = 400
    targets = on(
        BEFORE,
        actions.CLUSTER_SCALE_IN,
        actions.CLUSTER_RESIZE,
        actions.CLUSTER_DEL_NODES,
        actions.NODE_DELETE,
    )
    after = frozenset({'senlin.policy.region_placement', 'senlin.policy.zone_placement'})
    exclusive = True

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        size = state.size(request)
        if size.kind == CREATION:
            return skipped(size.explained('The cluster does not shrink.'))
        kept = _kept(request, state)
        named = None if kept else _named(request, state)
        if named:
            return self._applied(state, named, {'reasons': {'named by the action': len(named)}})
        if not size.count and not kept:
            return skipped(size.explained('No node is to be deleted.'))
        # An earlier policy has narrowed down nodes that the user named: no other may be chosen.
        user_named = bool(request.action.candidate_inputs.candidates)
        count = len(kept) if user_named else max(size.count, len(kept))
        choice, location_of = victim_selection.choose(
            request, state, count, self.properties.criteria, kept
        )
        chosen = [node.id for node in (*kept, *choice.victims)]
        too_few = victim_selection.too_few(choice, chosen, count, request.cluster)
        if too_few and self._is_strict:
            raise NodeProtected(too_few[0], self._protected(request, choice, location_of))
        details = self._details(request, kept, choice, location_of)
        reason = GENERATED if chosen or not too_few else ALL_PROTECTED
        outcome = self._applied(state, chosen, details, reason)
        warnings = victim_selection.warnings(choice, chosen, count, request.cluster)
        outcome = replace(outcome, reason=size.explained(outcome.reason), warnings=warnings)
        return outcome if user_named else self._with_hooks(outcome)

    @property
    def _is_strict(self) -> bool:
        """Whether the check fails if protected nodes leave too few victims."""
        return False

    def _applied(
        self,
        state: State,
        chosen: Sequence[str],
        details: Mapping[str, Any],
        reason: str = GENERATED,
    ) -> Outcome:
        deletion = state.action_data.deletion.updated(
            count=len(chosen),
            candidates=list(chosen),
            destroy_after_deletion=self.properties.destroy_after_deletion,
            grace_period=self.properties.grace_period,
            reduce_desired_capacity=self.properties.reduce_desired_capacity,
        )
        data = {**state.data, 'reason': reason, DELETION: deletion}
        return Outcome('APPLIED', reason, data=data, details=details)

    def _with_hooks(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the hooks, which apply to victims that a policy chose."""
        hooks = self.properties.hooks
        if not hooks.configured:
            return outcome
        return replace(outcome, data={**(outcome.data or {}), 'hooks': msgspec.to_builtins(hooks)})

    def _details(
        self,
        request: CheckRequest,
        kept: Sequence[Node],
        choice: victims.Choice,
        location_of: victim_selection.LocationOf,
    ) -> dict[str, Any]:
        """Return the reasons with their counts and, for `explain: full`, the ranked nodes."""
        criteria = self.properties.criteria
        of_kept = {KEPT: len(kept)} if kept else {}
        reasons = {**of_kept, **victims.reason_counts(choice, criteria)}
        protected = self._protected(request, choice, location_of)
        if request.explain != 'full':
            return {'reasons': reasons, **protected}

        def reason(node: Node) -> str:
            return victims.reason(node, criteria, choice.unplaced)

        first, next_rank = len(kept) + 1, len(kept) + len(choice.victims) + 1
        return {
            'reasons': reasons,
            'victims': [
                *_ranked(kept, 1, lambda _: KEPT, location_of),
                *_ranked(choice.victims, first, reason, location_of),
            ],
            'spared': _ranked(choice.spared[:NODES_SHOWN], next_rank, reason, location_of),
            **protected,
        }

    def _protected(
        self,
        request: CheckRequest,
        choice: victims.Choice,
        location_of: victim_selection.LocationOf,
    ) -> dict[str, Any]:
        """Return the number of protected nodes and, for `explain: full`, the first ones."""
        protections = choice.protected
        if not protections:
            return {}
        if request.explain != 'full':
            return {'protected': len(protections)}
        nodes = {node.id: node for node in request.cluster.nodes}
        rows = [
            {'id': node_id, 'place': '/'.join(location_of(nodes[node_id])), **one.details}
            for node_id, one in itertools.islice(protections.items(), NODES_SHOWN)
        ]
        return {'protected': len(protections), 'protected_nodes': rows}


def _ranked(
    nodes: Sequence[Node],
    start: int,
    reason: Callable[[Node], str],
    location_of: victim_selection.LocationOf,
) -> list[dict[str, Any]]:
    return [
        {
            'rank': rank,
            'id': node.id,
            'place': '/'.join(location_of(node)),
            'reason': reason(node),
            'status': node.status,
            'tainted': node.tainted,
        }
        for rank, node in enumerate(nodes, start=start)
    ]


def _kept(request: CheckRequest, state: State) -> list[Node]:
    """Return the nodes that an earlier policy chose, in its order; none for NODE_DELETE.

    :raises InvalidInput: a node is not a member of the cluster.
    :raises NodeProtected: a node is protected.
    """
    deletion = state.action_data.deletion
    chosen = None if request.action.action == actions.NODE_DELETE else deletion.candidates
    if chosen is None:
        return []
    victim_selection.check_deletable(chosen, request, state)
    known = {node.id: node for node in request.cluster.nodes}
    return [known[node_id] for node_id in chosen]


def _named(request: CheckRequest, state: State) -> list[str] | None:
    """Return the nodes that the action names, in its order; None if it leaves the choice open.

    :raises InvalidInput: a node is not a member of the cluster, or CLUSTER_DEL_NODES names none.
    :raises NodeProtected: a node is protected.
    """
    action = request.action
    named = action.candidate_inputs.candidates
    if not named and action.action == actions.NODE_DELETE and action.node:
        named = [action.node.id]
    if named:
        victim_selection.check_deletable(named, request, state)
        return named
    if action.action == actions.CLUSTER_DEL_NODES:
        action.candidate_inputs.required()
    return None
