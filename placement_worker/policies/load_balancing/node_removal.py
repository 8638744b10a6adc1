"""Take nodes out of the pool before the engine deletes them, down to the health floors.

A node that is deleted while it is a member fails the requests of its clients. Therefore this policy
runs last, on the victims that the others chose, and chooses them if no policy did. The floors of
all load-balancing policies of a check are applied before the first policy removes a member.
Otherwise a node that the floor of a later pool spares would be missing in an earlier pool.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from placement_worker.contract import actions, codec
from placement_worker.contract.action_data import DELETION, ActionData
from placement_worker.contract.model import Binding, CheckRequest, Node
from placement_worker.errors import TooFewOnline
from placement_worker.formats.text import listed, shortened
from placement_worker.octavia.pools import Pool
from placement_worker.planning import health_floor
from placement_worker.planning.health_floor import NO_MONITOR, ONLINE, Floor
from placement_worker.planning.victims import ALL_PROTECTED, Choice
from placement_worker.policies import victim_selection
from placement_worker.policies.base import Outcome, State, skipped
from placement_worker.policies.load_balancing.attached_pool import AttachedPool
from placement_worker.policies.load_balancing.member_change import MemberRemoval, PoolPlan
from placement_worker.policies.load_balancing.node_addresses import AddressLookup
from placement_worker.policies.load_balancing.properties import (
    LoadBalancingProperties,
    properties_type,
)
from placement_worker.policies.registry import normalized

# The grace period of a deletion that this policy chooses. It exceeds Octavia's default timeouts of
# idle connections (50 s, `timeout_client_data` and `timeout_member_data` of a listener), so that
# only active connections are left at its end.
_GRACE_PERIOD_S = 60
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
        request, state = self.request, self.state
        if self._has_hooks and not any(floored(request)):
            return skipped(HOOKS)
        victims = self._victims()
        victim_selection.check_deletable(victims or [], request, state)
        count = len(victims) if victims is not None else self._count()
        if not count:
            return self._without_victims(victims)
        refusal = victim_selection.min_size_refusal(request, count)
        if refusal:
            return skipped(refusal)
        return self._choose() if victims is None else self._leave(victims, None)

    def _victims(self) -> list[str] | None:
        """Return the ids of the nodes that the action removes; None if none are chosen yet."""
        action, state = self.request.action, self.state
        if action.action == actions.CLUSTER_REPLACE_NODES:
            return list(action.replace_inputs.candidates)
        if action.action == actions.NODE_DELETE and action.node:
            return [action.node.id]
        is_resize = action.action == actions.CLUSTER_RESIZE
        if is_resize and state.size(self.request).kind != DELETION:
            return []
        chosen = state.action_data.deletion.candidates
        if chosen is not None:
            return chosen
        named = action.candidate_inputs.candidates
        if named and is_resize and len(named) < state.size(self.request).count:
            return None
        return [] if named is None and action.action == actions.CLUSTER_DEL_NODES else named

    def _count(self) -> int:
        size = self.state.size(self.request)
        if size.kind != DELETION:
            return 0
        nodes, protected = self.request.cluster.nodes, self.state.protected(self.request)
        return min(size.count, len(nodes) - len(protected))

    def _without_victims(self, victims: Sequence[str] | None) -> Outcome:
        """Return the outcome of an action that removes no node.

        If all nodes are protected, the empty list of victims prevents a choice by the engine.
        """
        size = self.state.size(self.request)
        protected = self.state.protected(self.request) if size.kind == DELETION else {}
        if victims is not None or not (size.count and protected):
            return skipped('No node is to be deleted.')
        choice = Choice((), (), protected=protected)
        warnings = victim_selection.warnings(choice, (), size.count, self.request.cluster)
        data = self._with_candidates(())
        return Outcome('APPLIED', ALL_PROTECTED, data=data, warnings=warnings)

    def _choose(self) -> Outcome:
        request, state = self.request, self.state
        named = request.action.candidate_inputs.candidates or []
        victim_selection.check_deletable(named, request, state)
        nodes = request.nodes_by_id()
        kept = [nodes[node_id] for node_id in named]
        size = state.size(request)
        choice, _ = victim_selection.choose(request, state, size.count, kept)
        victims = [*named, *(node.id for node in choice.victims)]
        outcome = self._leave(victims, self._with_candidates([*kept, *choice.victims]))
        of_size = victim_selection.warnings(choice, victims, size.count, request.cluster)
        return structs.replace(outcome, warnings=(*outcome.warnings, *of_size))

    def _leave(self, victims: Sequence[str], data: Mapping[str, Any] | None) -> Outcome:
        """Remove the members of the victims that the floors let leave.

        :param data: the action's data if all leave; None if they stay the same.
        """
        deletion = ActionData(data or self.state.data).deletion
        warnings = [UNDRAINED] if self._drains and not deletion.grace_period else []
        attached = AttachedPool.for_check(self.properties, self.request, self.state)
        for binding, properties in floored(self.request):  # each has a pool, or nothing changes
            self._attached(binding, properties)
        removal = self._removal(attached, victims)
        with removal.all_failed_on_error():
            pool = attached.opened()
            floors = self._floors(removal.nodes, pool)
        kept = health_floor.kept(victims, floors)
        reached = health_floor.reached(victims, floors)
        if reached:
            self._refuse_named(reached, victims, kept)
            removal = self._removal(attached, kept)
        locate = AddressLookup(self.state.cloud, self.properties.pool).locate
        outcome = skipped(HOOKS) if self._has_hooks else removal.run(pool, locate)
        counts = next((floor.details for floor in floors if floor.pool_id == pool.pool_id), {})
        if not outcome.details.get('removed'):
            warnings = []
        outcome = structs.replace(
            outcome,
            data=data,
            details={**outcome.details, **counts},
            warnings=[*outcome.warnings, *self._warnings_of_monitor(pool), *warnings],
        )
        return self._trimmed(outcome, reached, victims, kept) if reached else outcome

    @property
    def _has_hooks(self) -> bool:
        return bool(self.state.data.get('hooks'))

    def _attached(self, binding: Binding, properties: LoadBalancingProperties) -> AttachedPool:
        state = structs.replace(self.state, binding=binding)
        return AttachedPool.for_check(properties, self.request, state)

    def _removal(self, attached: AttachedPool, node_ids: Sequence[str]) -> MemberRemoval:
        nodes = [attached.nodes[node_id] for node_id in node_ids]
        return MemberRemoval(self.state, nodes, attached, self.request.dry_run)

    def _floors(self, nodes: Sequence[Node], own: Pool) -> list[Floor]:
        """Return the floor of each pool, from one listing per pool and check.

        :param own: the pool of the state's binding.
        """
        floors = []
        for binding, properties in floored(self.request):
            attached = self._attached(binding, properties)
            is_own = self.state.binding is not None and self.state.binding.id == binding.id
            removal = MemberRemoval(self.state, nodes, attached)
            lookup = AddressLookup(self.state.cloud, properties.pool)
            plan = removal.plan(own if is_own else attached.opened(), lookup.locate)
            self.state.cloud.pool_members[attached.stored.pool_id] = plan.before.listed
            floors.append(_floor(attached, properties.min_online or 0, plan))
        return floors

    def _refuse_named(self, floor: Floor, victims: Sequence[str], kept: Sequence[str]) -> None:
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
        leaving = set(kept)
        spared = [node_id for node_id in victims if node_id not in leaving]
        data = outcome.data or self.state.data
        deletion = ActionData(data).deletion.replanned(len(kept), candidates=list(kept))
        warning = f'{floor.explained(len(victims), len(kept))}; spared: {listed(spared, shortened)}'
        return structs.replace(
            outcome,
            data={**data, DELETION: deletion},
            details={
                **outcome.details,
                'spared': [{'id': node_id, 'reason': floor.name} for node_id in spared],
            },
            warnings=(*outcome.warnings, warning),
        )

    def _warnings_of_monitor(self, pool: Pool) -> list[str]:
        members = self.state.cloud.pool_members.get(pool.pool_id, ())
        is_lost = any(member.get('operating_status') == NO_MONITOR for member in members)
        if not (self.properties.health_monitor and is_lost):
            return []
        return [
            f'Pool {pool.pool_id} has no health monitor, although its policy has one, so '
            'min_online counts members that may be down: attach the policy again to restore it'
        ]

    @property
    def _drains(self) -> bool:
        is_replaced = self.request.action.action == actions.CLUSTER_REPLACE_NODES
        return self.properties.drains and not is_replaced

    def _with_candidates(self, nodes: Sequence[Node]) -> dict[str, Any]:
        deletion = self.state.action_data.deletion
        plan = victim_selection.plan_of(nodes, deletion, self.state.cloud)
        chosen = deletion.updated(**plan)
        if self._drains:
            chosen.setdefault('grace_period', _GRACE_PERIOD_S)
        return {**self.state.data, DELETION: chosen}


def floored(request: CheckRequest) -> Iterator[tuple[Binding, LoadBalancingProperties]]:
    """Yield the enabled bindings whose pools have a floor, with their properties."""
    for binding in request.policies:
        kind = properties_type(binding.spec.type_name) if binding.enabled else None
        if kind is LoadBalancingProperties:
            properties = codec.decode(normalized(binding.spec.properties, kind), kind)
            if properties.min_online is not None:
                yield binding, properties


def _floor(attached: AttachedPool, min_online: int | str, plan: PoolPlan) -> Floor:
    """A check that is handled again, e.g. after a kill, has the floor that it had first.

    Therefore the members of its victims count as members, even if they have left.
    """
    present = {member['id']: member for member in plan.before.remaining().listed}
    online = {key for key, member in present.items() if member.get('operating_status') in ONLINE}
    leaving = Counter(node_id for member, node_id in plan.remove.items() if member in online)
    records = attached.records
    lost = sum(records.names_lost_member(node.data, present) for node in plan.nodes)
    return Floor(attached.stored.pool_id, min_online, len(present) + lost, len(online), leaving)
