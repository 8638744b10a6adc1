"""Which nodes an action means: those that it names, else those that are chosen for it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from placement_worker.contract.model import CheckRequest, Cluster, Node
from placement_worker.errors import InvalidInput
from placement_worker.planning import victims
from placement_worker.planning.removal_counts import RemovalCounts
from placement_worker.policies.base import State

NAMED_SHOWN = 10
PlaceOf = Callable[[Node], victims.Location]


def refuse_strangers(node_ids: Iterable[str], known: Iterable[Node], cluster: Cluster) -> None:
    """Only members of the cluster can be meant.

    :raises InvalidInput: naming those that are none.
    """
    members = {node.id for node in known}
    strangers = [node_id for node_id in node_ids if node_id not in members]
    if strangers:
        more = f' and {len(strangers) - NAMED_SHOWN} more' if len(strangers) > NAMED_SHOWN else ''
        listed = ', '.join(node_id[:80] for node_id in strangers[:NAMED_SHOWN])
        raise InvalidInput(f'Not a member of cluster {cluster.id[:80]}: {listed}{more}')


def choose(
    request: CheckRequest,
    state: State,
    count: int,
    criteria: victims.Criteria,
    kept: Sequence[Node] = (),
) -> tuple[victims.Choice, PlaceOf]:
    """Choose so many of the cluster's nodes, by criteria and as placement policies have planned.

    :param kept: the ones of `count` that are chosen already; they are not part of the choice.
    :returns: the choice, and what says the place that a node counts to.
    :raises NoFeasiblePlan: a place holds fewer nodes than planned.
    """
    counts = RemovalCounts.of(state.action_data.deletion, count)
    ordered = victims.order(request.cluster.nodes, criteria, request.action.id)

    def place_of(node: Node) -> victims.Location:
        return counts.location(
            state.cloud.region_of(node) if counts.by_region else None,
            state.cloud.zone_of(node) if counts.by_zone else None,
        )

    asked = counts.by_location
    if kept:
        ids = {node.id for node in kept}
        ordered = [node for node in ordered if node.id not in ids]
        count -= len(kept)
        asked = None if asked is None else _left(asked, Counter(map(place_of, kept)), count)
    return victims.choose(ordered, count, asked, place_of, counts.unknown), place_of


def _left(
    asked: Mapping[victims.Location, int], kept: Mapping[victims.Location, int], count: int
) -> dict[victims.Location, int]:
    """Return what the kept nodes leave of the quotas, `count` in all at most."""
    left: dict[victims.Location, int] = {}
    for place in sorted(asked):
        left[place] = min(max(asked[place] - kept.get(place, 0), 0), count)
        count -= left[place]
    return left
