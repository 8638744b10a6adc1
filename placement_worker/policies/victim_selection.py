"""Victim selection for policies: check named nodes, and choose the others as planned."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from placement_worker.contract.model import CheckRequest, Cluster, Node
from placement_worker.errors import InvalidInput
from placement_worker.formats import text
from placement_worker.planning import victims
from placement_worker.planning.removal_counts import RemovalCounts
from placement_worker.policies.base import State

LocationOf = Callable[[Node], victims.Location]
_LISTED = 10  # unknown nodes that an error lists


def check_members(node_ids: Iterable[str], cluster: Cluster) -> None:
    """Check that all nodes are members of the cluster.

    :raises InvalidInput: some are not; the text names the first ones.
    """
    members = {node.id for node in cluster.nodes}
    others = [node_id for node_id in node_ids if node_id not in members]
    if others:
        shown = text.listed(others, text.shortened, _LISTED)
        raise InvalidInput(f'Not a member of cluster {text.shortened(cluster.id)}: {shown}')


def choose(
    request: CheckRequest,
    state: State,
    count: int,
    criteria: victims.Criteria,
    kept: Sequence[Node] = (),
) -> tuple[victims.Choice, LocationOf]:
    """Choose victims among the nodes of the cluster, by criteria and as placement policies planned.

    :param count: the number of victims, `kept` included.
    :param kept: victims that are already chosen; they are not part of the result.
    :returns: the choice, and a function that returns the location of a node.
    :raises NoFeasiblePlan: a place holds fewer nodes than planned.
    """
    counts = RemovalCounts.of(state.action_data.deletion, count)
    ordered = victims.order(request.cluster.nodes, criteria, request.action.id)

    def location_of(node: Node) -> victims.Location:
        return counts.location(
            state.cloud.region_of(node) if counts.by_region else None,
            state.cloud.zone_of(node) if counts.by_zone else None,
        )

    planned = counts.by_location
    if kept:
        ids = {node.id for node in kept}
        ordered = [node for node in ordered if node.id not in ids]
        count -= len(kept)
        if planned is not None:
            planned = _rest(planned, Counter(map(location_of, kept)), count)
    choice = victims.choose(ordered, count, planned, location_of, counts.unknown)
    return choice, location_of


def _rest(
    planned: Mapping[victims.Location, int], kept: Mapping[victims.Location, int], count: int
) -> dict[victims.Location, int]:
    """Return the removal counts without the kept nodes, limited to `count` in total."""
    rest: dict[victims.Location, int] = {}
    for location in sorted(planned):
        rest[location] = min(max(planned[location] - kept.get(location, 0), 0), count)
        count -= rest[location]
    return rest
