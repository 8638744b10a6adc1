"""The deletion policy, senlin.policy.deletion: it names the nodes that an action deletes.

Nodes may be named by the action, chosen by an earlier policy, or left to the criteria; `check`
distinguishes these cases, and `victim_selection` chooses. Properties and their meaning are those of
senlin/policies/deletion_policy.py of Senlin 16; version 1.2 adds `protection`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs
from typing_extensions import override

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckRequest, Node, SupportStatus
from placement_worker.errors import NodeProtected
from placement_worker.planning.sizing import Size
from placement_worker.planning.victims import ALL_PROTECTED, Criteria
from placement_worker.policies import victim_selection
from placement_worker.policies.base import (
    BEFORE,
    Outcome,
    Policy,
    State,
    older_version,
    on,
    skipped,
)
from placement_worker.policies.victim_selection import KEPT, NAMED, VictimRows

_GENERATED = 'Candidates generated'


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
        int, Meta(ge=0, description='Seconds to wait for a response about each node.')
    ] = 0
    params: HookParams = HookParams()

    def __post_init__(self) -> None:
        if self.type == 'webhook' and not self.params.url:
            raise ValueError('Expected `params.url` for hooks of type `webhook`, got none')
        if self.type == 'zaqar' and not self.params.queue and (self.timeout or self.params.url):
            raise ValueError('Expected `params.queue` for hooks of type `zaqar`, got none')

    @property
    def configured(self) -> bool:
        return bool(self.params.queue or self.params.url)


class DeletionProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.deletion. Senlin accepts `hooks` in each version."""

    criteria: Annotated[Criteria, Meta(description='Which nodes are deleted first.')] = 'RANDOM'
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
    protection: Annotated[
        Literal['best_effort', 'strict'],
        Meta(
            description='Whether fewer nodes are deleted (best_effort) or the action fails '
            '(strict) if too few nodes are not protected. New in 1.2.'
        ),
    ] = 'best_effort'


class Deletion(Policy[DeletionProperties]):
    """Choose the nodes to delete.

    Nodes that an earlier policy chose stay chosen, and the criteria choose the rest. Nodes that the
    action names replace the choice by criteria. A check fails if a chosen or named node is not a
    member of the cluster or is protected, or if a place holds fewer nodes than placement policies
    planned to delete there. Protected nodes are never chosen.
    """

    name = 'senlin.policy.deletion'
    versions = dict.fromkeys(
        ('1.0', '1.1'), older_version(DeletionProperties, {'protection': 'best_effort'})
    )
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
        reason = KEPT
        if named and request.action.action == actions.CLUSTER_RESIZE and len(named) < size.count:
            kept, named, reason = _members(named, request), None, NAMED
        if named is None and not size.count and not kept:
            return skipped(size.explained('No node is to be deleted.'))
        # An earlier policy has narrowed down nodes that the user named: no other may be chosen.
        wanted = len(kept) if _user_chose(request) else max(size.count, len(kept))
        deletable = len(request.cluster.nodes) - len(state.protected(request))
        removed = len(named) if named else min(wanted, deletable)
        refusal = victim_selection.min_size_refusal(request, removed)
        if refusal:
            return skipped(refusal)
        if named:
            details = {'reasons': {NAMED: len(named)}}
            data = self._data(state, _members(named, request), _GENERATED)
            return Outcome('APPLIED', _GENERATED, data, details=details)
        outcome = self._chosen(request, state, size, wanted, kept, reason)
        hooks = self.properties.hooks
        # Hooks apply to victims that a policy chose.
        if _user_chose(request) or not hooks.configured:
            return outcome
        return structs.replace(
            outcome, data={**(outcome.data or {}), 'hooks': msgspec.to_builtins(hooks)}
        )

    def _chosen(
        self,
        request: CheckRequest,
        state: State,
        size: Size,
        count: int,
        kept: Sequence[Node],
        reason: str,
    ) -> Outcome:
        criteria = self.properties.criteria
        choice, locations = victim_selection.choose(request, state, count, kept)
        chosen = [node.id for node in (*kept, *choice.victims)]
        too_few = victim_selection.too_few(choice, chosen, count, request.cluster)
        rows = VictimRows(criteria, kept, reason, choice, locations)
        is_full = request.explain == 'full'
        protected = rows.of_protected(is_full)
        if too_few and self.properties.protection == 'strict':
            raise NodeProtected(too_few[0], protected)
        explained = _GENERATED if chosen or not too_few else ALL_PROTECTED
        return Outcome(
            'APPLIED',
            size.explained(explained),
            self._data(state, [*kept, *choice.victims], explained),
            details={**rows.of_choice(is_full), **protected},
            warnings=victim_selection.warnings(choice, chosen, count, request.cluster),
        )

    def _data(self, state: State, victims: Sequence[Node], reason: str) -> dict[str, Any]:
        planned = state.action_data.deletion
        deletion = planned.updated(
            **victim_selection.plan_of(victims, planned, state.cloud),
            destroy_after_deletion=self.properties.destroy_after_deletion,
            grace_period=self.properties.grace_period,
            reduce_desired_capacity=self.properties.reduce_desired_capacity,
        )
        return {**state.data, 'reason': reason, DELETION: deletion}


def _user_chose(request: CheckRequest) -> bool:
    """Return whether the inputs of the action name all victims; a resize may remove others, too."""
    is_resize = request.action.action == actions.CLUSTER_RESIZE
    return not is_resize and bool(request.action.candidate_inputs.candidates)


def _kept(request: CheckRequest, state: State) -> list[Node]:
    """Return the nodes that an earlier policy chose, in its order; none for NODE_DELETE."""
    deletion = state.action_data.deletion
    chosen = None if request.action.action == actions.NODE_DELETE else deletion.candidates
    if chosen is None:
        return []
    victim_selection.check_deletable(chosen, request, state)
    return _members(chosen, request)


def _members(node_ids: Sequence[str], request: CheckRequest) -> list[Node]:
    known = {node.id: node for node in request.cluster.nodes}
    return [known[node_id] for node_id in node_ids]


def _named(request: CheckRequest, state: State) -> list[str] | None:
    """Return the nodes that the action names, in its order; None if it leaves the choice open."""
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


class ProtectingDeletion(Deletion):
    """Choose the nodes to delete, and check that no node to be replaced is protected."""

    versions = {**Deletion.versions, '1.2': DeletionProperties}
    support_status = {**Deletion.support_status, '1.2': [SupportStatus('SUPPORTED', '2026.11')]}
    targets = Deletion.targets | on(BEFORE, actions.CLUSTER_REPLACE_NODES)

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        if request.action.action != actions.CLUSTER_REPLACE_NODES:
            return super().check(request, state)
        replaced = list(request.action.replace_inputs.candidates)
        victim_selection.check_deletable(replaced, request, state)
        return skipped('No node to be replaced is protected.')
