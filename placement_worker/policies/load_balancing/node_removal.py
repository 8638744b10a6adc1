"""Take nodes out of the pool before the engine deletes them, down to the health floors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION, ActionData
from placement_worker.contract.model import CheckRequest, Node
from placement_worker.errors import TooFewOnline
from placement_worker.formats.text import listed, shortened
from placement_worker.planning import health_floor
from placement_worker.planning.health_floor import Floor
from placement_worker.planning.protection import ALL_PROTECTED
from placement_worker.planning.victims import Choice
from placement_worker.policies import victim_selection
from placement_worker.policies.base import Outcome, State, skipped
from placement_worker.policies.load_balancing import pool_floors, selection
from placement_worker.policies.load_balancing.member_removal import MemberRemoval
from placement_worker.policies.load_balancing.node_addresses import LateLookup
from placement_worker.policies.load_balancing.pool_access import PoolAccess
from placement_worker.policies.load_balancing.properties import (
    LoadBalancingProperties,
    LoadBalancingProperties14,
)

GRACE_PERIOD_S = 60
"""The grace period of a deletion that this policy chooses.

It exceeds Octavia's default timeouts of idle connections (50 s, `timeout_client_data` and
`timeout_member_data` of a listener), so that only active connections are left at its end.
"""
UNDRAINED = (
    'The deletion has no grace_period, so nodes are deleted as soon as their members leave the '
    'pool, and open connections break: set grace_period in the deletion policy'
)
HOOKS = 'The engine takes the nodes out of the pool after its lifecycle hooks.'


@dataclass(frozen=True, slots=True)
class NodeRemoval:
    """The removal of nodes that an action asks for, from the pool of the state's binding."""

    properties: LoadBalancingProperties
    request: CheckRequest
    state: State

    def run(self) -> Outcome:
        """Remove the members of the victims, and choose victims if no policy chose any.

        :raises Rejected: a member cannot be removed, or a health floor does not let named nodes
            leave.
        """
        request, state = self.request, self.state
        if self._has_hooks and not any(pool_floors.bound(request)):
            return skipped(HOOKS)
        named = selection.to_remove(request, state)
        victim_selection.check_deletable(named or [], request, state)
        count = len(named) if named is not None else selection.deleted_count(request, state)
        if not count:
            return self._without_victims(named)
        refusal = victim_selection.min_size_refusal(request, count)
        if refusal:
            return skipped(refusal)
        return self._choose() if named is None else self._leave(named, None)

    def _choose(self) -> Outcome:
        """Choose victims at random after those that a resize names, and remove their members."""
        request, state = self.request, self.state
        named = request.action.candidate_inputs.candidates or []
        victim_selection.check_deletable(named, request, state)
        kept, _unknown = selection.find(request, named)
        size = state.size(request)
        choice, _ = victim_selection.choose(request, state, size.count, 'RANDOM', kept)
        victims = [*named, *(node.id for node in choice.victims)]
        outcome = self._leave(victims, self._with_candidates([*kept, *choice.victims]))
        of_size = victim_selection.warnings(choice, victims, size.count, request.cluster)
        return replace(outcome, warnings=(*outcome.warnings, *of_size))

    def _without_victims(self, named: Sequence[str] | None) -> Outcome:
        """Return the outcome of an action that removes no node.

        If all nodes are protected, the empty list of victims prevents a choice by the engine.
        """
        size = self.state.size(self.request)
        protected = self.state.protected(self.request) if size.kind == DELETION else {}
        if named is not None or not (size.count and protected):
            return skipped('No node is to be deleted.')
        choice = Choice((), (), protected=protected)
        warnings = victim_selection.warnings(choice, (), size.count, self.request.cluster)
        data = self._with_candidates(())
        return Outcome('APPLIED', ALL_PROTECTED, data=data, warnings=warnings)

    @property
    def _has_hooks(self) -> bool:
        return bool(self.state.data.get('hooks'))

    def _leave(self, victims: Sequence[str], data: Mapping[str, Any] | None) -> Outcome:
        """Remove the members of the victims that the floors let leave.

        :param data: the action's data if all leave; None if they stay the same.
        """
        warnings = self._warnings_of_connections(data or self.state.data)
        access = PoolAccess.of(self.properties, self.request, self.state)
        pool_floors.check_attached(self.request, self.state)
        removal = self._removal(access, victims)
        with removal.all_failed_on_error(access.stored.pool_id, access.updater.statistics):
            pool = access.pool()
            floors = pool_floors.measured(self.request, self.state, removal.nodes, pool)
        kept = health_floor.kept(victims, floors)
        reached = health_floor.reached(victims, floors)
        if reached:
            self._refuse_named(reached, victims, kept)
            removal = self._removal(access, kept)
        lookup = LateLookup(self.state, self.request.cluster, self.properties)
        outcome = skipped(HOOKS) if self._has_hooks else removal.run(pool, lookup)
        of_pool = next((one.details for one in floors if one.pool_id == pool.pool_id), {})
        outcome = replace(outcome, data=data, details={**outcome.details, **of_pool})
        if outcome.details.get('removed'):
            outcome = replace(outcome, warnings=[*outcome.warnings, *warnings])
        return self._trimmed(outcome, reached, victims, kept) if reached else outcome

    def _removal(self, access: PoolAccess, node_ids: Sequence[str]) -> MemberRemoval:
        """Return the removal of the members of these nodes."""
        request = self.request
        nodes, _unknown = selection.find(request, node_ids)
        alone = not access.stored.preexisting and request.action.action not in actions.OF_A_NODE
        return MemberRemoval(self.state, nodes, request.dry_run, alone)

    def _warnings_of_connections(self, data: Mapping[str, Any]) -> list[str]:
        """Return a warning if the engine breaks connections to members that leave.

        :raises InvalidInput: the grace period in the data is malformed.
        """
        return [] if not self._drains or ActionData(data).deletion.grace_period else [UNDRAINED]

    @property
    def _drains(self) -> bool:
        """Whether the grace period matters: since 1.4, and for nodes that the engine deletes."""
        is_replaced = self.request.action.action == actions.CLUSTER_REPLACE_NODES
        return isinstance(self.properties, LoadBalancingProperties14) and not is_replaced

    def _refuse_named(self, floor: Floor, victims: Sequence[str], kept: Sequence[str]) -> None:
        """Check that all victims leave that the user has named.

        :raises TooFewOnline: the floor does not let them.
        """
        action = self.request.action
        named: Sequence[str] = action.candidate_inputs.candidates or ()
        if action.action in (actions.CLUSTER_REPLACE_NODES, actions.NODE_DELETE):
            named = victims
        if not set(named) <= set(kept):
            raise TooFewOnline(
                f'{floor.explained(len(victims), len(kept))}; name fewer nodes, or wait until more '
                'members are online',
                {'pool': floor.pool_id, **floor.details},
            )

    def _trimmed(
        self, outcome: Outcome, floor: Floor, victims: Sequence[str], kept: Sequence[str]
    ) -> Outcome:
        """Return the outcome with fewer victims; a plan by place for all of them is dropped."""
        leaving = set(kept)
        spared = [node_id for node_id in victims if node_id not in leaving]
        data = outcome.data or self.state.data
        deletion = ActionData(data).deletion.replanned(len(kept), candidates=list(kept))
        warning = f'{floor.explained(len(victims), len(kept))}; spared: {listed(spared, shortened)}'
        return replace(
            outcome,
            data={**data, DELETION: deletion},
            details={**outcome.details, 'spared': victim_selection.spared_rows(spared, floor.name)},
            warnings=(*outcome.warnings, warning),
        )

    def _with_candidates(self, nodes: Sequence[Node]) -> dict[str, Any]:
        """Return the action's data with the chosen victims, and with a grace period since 1.4."""
        deletion = self.state.action_data.deletion
        chosen = deletion.updated(
            **victim_selection.counts_by_place(nodes, deletion, self.state.cloud),
            count=len(nodes),
            candidates=[node.id for node in nodes],
        )
        if self._drains:
            chosen.setdefault('grace_period', GRACE_PERIOD_S)
        return {**self.state.data, DELETION: chosen}
