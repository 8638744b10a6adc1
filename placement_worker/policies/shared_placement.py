"""Functions that zone and region placement share: check specs, plan, and describe the plan."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.cluster import Node, Profile
from placement_worker.contract.model import CheckRequest, NodePatch
from placement_worker.contract.placement_data import Placement
from placement_worker.formats.text import counted
from placement_worker.planning import victims
from placement_worker.planning.plan_rows import Row
from placement_worker.planning.protection import ALL_PROTECTED
from placement_worker.planning.shortage import failed_nodes
from placement_worker.planning.sizing import Size
from placement_worker.policies import min_size
from placement_worker.policies.base import BEFORE, Outcome, State, on

TARGETS = on(
    BEFORE,
    actions.CLUSTER_SCALE_OUT,
    actions.CLUSTER_SCALE_IN,
    actions.CLUSTER_RESIZE,
    actions.NODE_CREATE,
)
HEAVIEST = 2**31 - 1  # the maximum weight and cap, which bounds the time to plan
NOTHING_TO_DO = 'No node is to be created or deleted.'
T = TypeVar('T', bound=Hashable)


@dataclass(frozen=True, slots=True)
class Task:
    """The nodes that a placement policy creates or deletes in one check.

    :ivar size: the number of nodes that the action asks for.
    :ivar possible: the size, limited to the number of nodes that may be deleted.
    :ivar protected: the ids of the nodes that must not be deleted; a creation need not know them.
    """

    request: CheckRequest
    state: State
    size: Size
    possible: Size
    protected: Collection[str] = ()

    @classmethod
    def of(cls, request: CheckRequest, state: State, size: Size) -> Self:
        """Return the task of an action of this size."""
        protected = state.protected(request) if size.kind == DELETION and size.count else ()
        if not protected:
            return cls(request, state, size, size)
        deletable = len(request.cluster.nodes) - len(protected)
        possible = replace(size, count=min(size.count, deletable))
        return cls(request, state, size, possible, protected)

    @property
    def skip_reason(self) -> str | None:
        """The reason not to plan, or None."""
        if not self.size.count:
            return self.size.explained(NOTHING_TO_DO)
        if not self.possible.count:
            return self.size.explained(ALL_PROTECTED)
        if self.size.kind == CREATION:
            return None
        return min_size.refusal(self.request, self.possible.count)

    def in_groups(
        self,
        nodes: Sequence[Node],
        count: Callable[[Sequence[Node]], Counter[T]],
        *,
        without_failed: bool = False,
    ) -> tuple[list[Counter[T]], Counter[T]]:
        """Count nodes by place, in the groups in which they leave, and those that stay.

        All nodes are counted in one pass, which other policies share, and the few exceptional ones
        in a second pass.

        Victims that are already chosen leave first, so that the plan agrees with them.

        :param nodes: members of the cluster.
        :param without_failed: whether a creation does not count the nodes whose own creation
            failed.
        :returns: the groups, of which the last one has the healthy nodes and no other is empty, and
            the protected nodes. A creation has one group and no protected nodes.
        :raises InvalidInput: the victims that are already chosen are malformed.
        """
        everywhere = count(nodes)
        if self.size.kind == CREATION:
            failed = failed_nodes(self._exceptional(nodes)) if without_failed else []
            return [everywhere - count(failed) if failed else everywhere], Counter()
        staying: Counter[T] = Counter()
        first: Sequence[Sequence[Node]] = victims.before_healthy(self._exceptional(nodes))
        chosen = self._chosen_ids()
        if chosen:
            first = [
                [node for node in nodes if node.id in chosen],
                *([node for node in group if node.id not in chosen] for group in first),
            ]
        if self.protected:
            staying = count([node for node in nodes if node.id in self.protected])
            first = [[node for node in group if node.id not in self.protected] for group in first]
        groups = [count(group) for group in first if group]
        others = everywhere - sum(groups, staying) if groups or staying else everywhere
        return [*groups, others], staying

    def _chosen_ids(self) -> Collection[str]:
        """Return the ids of the victims that an earlier policy, or else the action, has chosen.

        :raises InvalidInput: they are no list of distinct ids.
        """
        action, data = self.request.action, self.state.action_data
        chosen = data.deletion.candidates if DELETION in data.data else None
        if not chosen and action.inputs.get('candidates'):
            chosen = action.candidate_inputs.candidates
        return frozenset(chosen or ())

    def _exceptional(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return those of some nodes that may be unhealthy or never created."""
        is_whole = nodes is self.request.cluster.nodes
        return self.state.exceptional(self.request.cluster) if is_whole else nodes

    def applied(
        self,
        kind: str,
        plan: Mapping[str, Any],
        entries: Sequence[Mapping[str, str]],
        details: Mapping[str, Any],
        warnings: Sequence[str],
    ) -> Outcome:
        """Return the outcome of a plan.

        :param kind: `zone` or `region`; the plan has the counts of such places under its plural.
        :param entries: the place of each node to create, none for a deletion.
        """
        action_data = self.state.action_data
        replaced = self._replaced(kind, entries)
        return Outcome(
            'APPLIED',
            nodes=placed_node(self.request, self.state, entries),
            reason=summary(self.possible, kind, len(plan[f'{kind}s'])),
            data=action_data.planned(self.size.kind, self.size.count, plan, entries),
            details=details,
            warnings=[*warnings, *replaced],
        )

    def _replaced(self, kind: str, entries: Sequence[Mapping[str, str]]) -> list[str]:
        """Return a sentence if a plan replaces places that an earlier policy chose, else none.

        Places in the data of the request are those of the engine.
        """
        earlier = self.state.action_data.data.get('placement') if entries else None
        if earlier is None or earlier == self.request.action.data.get('placement'):
            return []
        part = ('region', 'zone').index(kind)
        chosen = Counter(place[part] for place in Placement.of(earlier).places if place[part])
        planned = Counter(Placement.of(entry).place[part] for entry in entries)
        if not chosen - planned:
            return []
        return [
            f'{kind.capitalize()} placement replaces the {kind}s that an earlier policy chose; '
            f'that policy must run after senlin.policy.{kind}_placement'
        ]


def check_distinct(property_name: str, names: Sequence[str]) -> None:
    """Check that a spec lists each place once; a repeated place would have two weights.

    :raises ValueError: a name is repeated; the decoder adds the path.
    """
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise ValueError(
                f'Expected each name once, got `{name}` again in `{property_name}[{i}]`'
            )
        seen.add(name)


def profile_of_new_node(request: CheckRequest) -> Profile | None:
    """Return the profile of the node that a NODE_CREATE makes; None for any other action."""
    if request.action.action != actions.NODE_CREATE or request.action.node is None:
        return None
    return request.action.node.profile or request.cluster.profile


def placed_node(
    request: CheckRequest, state: State, entries: Sequence[Mapping[str, str]]
) -> dict[str, NodePatch]:
    """Return the patch that records the place of the node of a NODE_CREATE, the first entry.

    The result is {} if the node's data has the place, and for any other action.
    """
    node = request.action.node
    if request.action.action != actions.NODE_CREATE or node is None:
        return {}
    place, data = entries[0], state.node_data(node)
    placement = Placement.of(data.get('placement'))
    if placement.is_at(place):
        return {}
    return {node.id: NodePatch(data={**data, 'placement': placement.moved(place)})}


def rows(planned: Sequence[Row], **more: str) -> list[dict[str, Any]]:
    """Return the rows of a plan for the details of a decision; `ideal` has two decimals."""
    return [
        {
            **more,
            'name': row.name,
            'weight': row.weight,
            'cap': row.cap,
            'usable': row.usable,
            'current': row.current,
            'ideal': round(row.ideal, 2),
            'planned': row.planned,
            'final': row.final,
            'note': row.note,
        }
        for row in planned
    ]


def summary(size: Size, what: str, places: int) -> str:
    """Return the reason of a decision, e.g. "3 nodes leave 2 zones"."""
    one, creates = size.count == 1, size.kind == CREATION
    if places:
        verb = ('goes to' if one else 'go to') if creates else ('leaves' if one else 'leave')
        effect = f'{verb} {counted(places, what)}'
    elif creates:
        effect = f'{"is" if one else "are"} created without a {what}'
    else:
        effect = f'of no known {what} {"leaves" if one else "leave"}'
    reason = f'{counted(size.count, "node")} {effect}'
    return size.explained(reason) if size.limit else reason
