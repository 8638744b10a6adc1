"""Victim selection for policies: check named nodes, choose the others, and explain the choice.

The deletion and the load-balancing policy must agree on the victims of a check, also on a removal
that the engine will refuse: a victim whose member stays in the pool would leave the member behind
in an engine that deletes the victim nevertheless.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import action_data, actions
from placement_worker.contract.action_data import CREATION, DELETION, Deletion, PlaceCount
from placement_worker.contract.model import CheckRequest, Cluster, Node
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.errors import InvalidInput, NodeProtected
from placement_worker.formats.text import counted, listed, shortened
from placement_worker.planning import victims
from placement_worker.planning.sizing import excess_removal, is_below_min_size
from placement_worker.planning.victims import RemovalCounts
from placement_worker.policies.base import State

# The reasons of victims that the deletion policy did not choose.
KEPT = 'chosen by an earlier policy'
NAMED = 'named by the action'
# The types of profiles whose nodes can be members of a pool.
POOL_PROFILES = frozenset({'os.nova.server-1.0'})
# Actions that add nodes; a resize may also remove nodes.
_ADDING = frozenset({actions.CLUSTER_SCALE_OUT, actions.CLUSTER_RESIZE, actions.NODE_CREATE})
_LISTED = 10  # unknown nodes that an error lists
_NODES_SHOWN = 10  # spared nodes, and protected nodes, in the details of a decision


def check_deletable(node_ids: list[str], request: CheckRequest, state: State) -> None:
    members = {node.id for node in request.cluster.nodes} if node_ids else ()
    others = [node_id for node_id in node_ids if node_id not in members]
    if others:
        names = listed(others, shortened, _LISTED)
        raise InvalidInput(f'Not a member of cluster {shortened(request.cluster.id)}: {names}')
    _check_unprotected(node_ids, request, state)


def check_candidates(request: CheckRequest, state: State) -> None:
    """Check the victims in the data: the engine deletes them, even if no policy read them."""
    _check_unprotected(action_data.stated_candidates(state.data), request, state)


def check_named(request: CheckRequest, state: State) -> None:
    """Check the nodes that the action itself names for deletion; parts of other actions pass."""
    action = request.action
    is_part = action.action in actions.OF_A_NODE and action.cause == actions.DERIVED
    if action.action not in actions.REMOVING or is_part:
        return
    _check_unprotected(action.inputs.get('candidates'), request, state)
    if action.action == actions.NODE_DELETE and action.node:
        _check_unprotected([action.node.id], request, state)


def _check_unprotected(candidates: object, request: CheckRequest, state: State) -> None:
    """`candidates` need not be valid."""
    protected = state.protected(request) if candidates else {}
    if not protected or not isinstance(candidates, (list, dict)):
        return
    ids = (candidate for candidate in candidates if isinstance(candidate, str))
    named = {node_id: protected[node_id] for node_id in ids if node_id in protected}
    if named:
        raise NodeProtected(
            f'Protected nodes must not be deleted: {victims.protected_nodes_text(named)}; '
            'remove their protection first'
        )


def choose(
    request: CheckRequest, state: State, count: int, kept: Sequence[Node]
) -> tuple[victims.Choice, Mapping[str, victims.PlannedPlace]]:
    """Protected nodes are not chosen, so the victims may be fewer than `count`.

    :param count: the number of victims, `kept` included.
    :param kept: victims that are already chosen; they are not part of the result.
    :returns: the choice, and the location of each node of the cluster by id.
    """
    counts = RemovalCounts.planned_in(state.action_data.deletion, count)
    places = state.cloud.by_place(
        request.cluster.nodes, by_region=counts.by_region, by_zone=counts.by_zone
    )
    locations: dict[str, victims.PlannedPlace] = {}
    for place, nodes in places.items():
        locations |= dict.fromkeys([node.id for node in nodes], counts.location(*place))
    if kept and counts.by_location is not None:
        left = Counter(locations[node.id] for node in kept)
        rest = _rest(counts.by_location, left, count - len(kept))
        counts = structs.replace(counts, by_location=rest)
    protected = state.protected(request)
    excluded = {*protected, *(node.id for node in kept)}
    free = [node for node in state.members.ordered if node.id not in excluded]
    return victims.choose(free, count - len(kept), counts, locations, protected), locations


def plan_of(nodes: Sequence[Node], deletion: Deletion, cloud: Snapshot) -> dict[str, Any]:
    """Return these victims, and the parts of a plan by place that differ from them.

    All victims must be nodes of the cluster.
    Protection may spare planned nodes, and an engine may name nodes of other places: a plan that
    differs from the victims would let the engine delete others.
    """
    regions, zones, places = deletion.regions, deletion.zones, deletion.places
    by_place = cloud.by_place(
        nodes,
        by_region=regions is not None or places is not None,
        by_zone=zones is not None or places is not None,
    )
    located = [place for place, members in by_place.items() for _ in members]
    plan: dict[str, Any] = {}
    if regions is not None:
        plan['regions'] = _counted(region for region, _ in located)
    if places is not None:
        whole = {place.region for place in places if place.zone is None}
        in_places = [
            (region, None if region in whole else zone)
            for region, zone in located
            if region and (zone or region in whole)
        ]
        counts = sorted(Counter(in_places).items(), key=str)
        plan['places'] = [PlaceCount(*place, number) for place, number in counts]
        located = [*in_places]
    if zones is not None:
        plan['zones'] = _counted(zone for _, zone in located)
    planned = {
        'regions': +Counter(regions),
        'zones': +Counter(zones),
        'places': [place for place in places or () if place.nodes],
    }
    changed = {key: value for key, value in plan.items() if value != planned[key]}
    if 'places' in changed:
        changed['places'] = [
            {'region_name': region, **({'zone': zone} if zone else {}), 'count': number}
            for region, zone, number in changed['places']
        ]
    return {**changed, 'count': len(nodes), 'candidates': [node.id for node in nodes]}


def _counted(names: Iterable[str | None]) -> dict[str, int]:
    counts = Counter(name for name in names if name is not None)
    return dict(sorted(counts.items()))


def too_few(
    choice: victims.Choice, chosen: Sequence[str], count: int, cluster: Cluster
) -> list[str]:
    wanted = min(count, len(cluster.nodes))
    if len(chosen) == wanted:
        return []
    return [victims.too_few_victims(len(chosen), wanted, choice.protected)]


def warnings(
    choice: victims.Choice, chosen: Sequence[str], count: int, cluster: Cluster
) -> list[str]:
    return [
        *excess_removal(count, cluster),
        *too_few(choice, chosen, count, cluster),
        *victims.unparsed_protections(choice.protected),
    ]


def _rest(
    planned: Mapping[victims.PlannedPlace, int],
    kept: Mapping[victims.PlannedPlace, int],
    count: int,
) -> dict[victims.PlannedPlace, int]:
    rest: dict[victims.PlannedPlace, int] = {}
    for location in sorted(planned):
        rest[location] = min(max(planned[location] - kept.get(location, 0), 0), count)
        count -= rest[location]
    return rest


class VictimRows(Struct, frozen=True):
    """The rows that explain a choice of victims.

    :ivar kept: the victims that an earlier policy or the action chose; they have the first ranks.
    """

    criteria: victims.Criteria
    kept: Sequence[Node]
    kept_reason: str
    choice: victims.Choice
    locations: Mapping[str, victims.PlannedPlace]

    def of_choice(self, is_full: bool) -> dict[str, Any]:
        of_kept = {self.kept_reason: len(self.kept)} if self.kept else {}
        reasons = {**of_kept, **victims.reason_counts(self.choice, self.criteria)}
        if not is_full:
            return {'reasons': reasons}
        chosen = [*self.kept, *self.choice.victims]
        first_spared = self.choice.spared[:_NODES_SHOWN]
        return {
            'reasons': reasons,
            'victims': [self._row(rank, node) for rank, node in enumerate(chosen, 1)],
            'spared': [
                self._row(rank, node) for rank, node in enumerate(first_spared, len(chosen) + 1)
            ],
        }

    def of_protected(self, is_full: bool) -> dict[str, Any]:
        protections = self.choice.protected
        if not protections:
            return {}
        if not is_full:
            return {'protected': len(protections)}
        rows = [
            {'id': node_id, 'place': self._place(node_id), **protection.details}
            for node_id, protection in itertools.islice(protections.items(), _NODES_SHOWN)
        ]
        return {'protected': len(protections), 'protected_nodes': rows}

    def _row(self, rank: int, node: Node) -> dict[str, Any]:
        is_kept = rank <= len(self.kept)
        is_victim = rank <= len(self.kept) + len(self.choice.victims)
        return {
            'rank': rank,
            'id': node.id,
            'place': self._place(node.id),
            'reason': self.kept_reason if is_kept else self._reason(node, is_victim),
            'status': node.status,
            'tainted': node.tainted,
        }

    def _reason(self, node: Node, is_victim: bool) -> str:
        place = self._place(node.id) if is_victim else ''
        return victims.reason(node, self.criteria, self.choice.unplaced, place)

    def _place(self, node_id: str) -> str:
        return '/'.join(self.locations[node_id])


def min_size_refusal(request: CheckRequest, count: int) -> str | None:
    """Return the reason to skip a removal that the engine will refuse, or None.

    Without a load-balancing policy there is no reason: no member can be left behind.
    """
    has_pool = request.cluster.profile.type in POOL_PROFILES and any(
        binding.enabled and binding.spec.type == LOAD_BALANCING for binding in request.policies
    )
    if not has_pool or not is_below_min_size(request.action, request.cluster, count):
        return None
    return (
        f'The engine will refuse to leave fewer than min_size ({request.cluster.min_size}) nodes.'
    )


def without_ignored_deletion(
    request: CheckRequest, state: State
) -> tuple[Mapping[str, Any], list[str]]:
    """Return the action's data without a deletion that a growth ignores, and a sentence about it.

    :raises Rejected: the deletion names a node that must not be deleted.
    """
    if request.action.action not in _ADDING or DELETION not in state.data:
        return state.data, []
    size = state.size(request)
    if size.kind != CREATION:
        return state.data, []
    check_deletable(state.action_data.deletion.candidates or [], request, state)
    warning = (
        f'The action adds {counted(size.count, "node")} and removes none, so it ignores '
        'data.deletion: remove nodes by an action of their own'
    )
    return {key: value for key, value in state.data.items() if key != DELETION}, [warning]
