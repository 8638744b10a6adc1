"""What zone and region placement have in common: how a plan becomes action data, node data and details."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from placement_worker import actions
from placement_worker.errors import InvalidSpec
from placement_worker.model import CheckRequest, Node, NodePatch, Profile
from placement_worker.planning import sizing
from placement_worker.planning.placement import Place, Plan, Row, grow, shrink
from placement_worker.planning.sizing import CREATION, Size
from placement_worker.policies.base import BEFORE, State, on

TARGETS = on(BEFORE, actions.CLUSTER_SCALE_OUT, actions.CLUSTER_SCALE_IN, actions.CLUSTER_RESIZE, actions.NODE_CREATE)
NOTHING_TO_DO = 'No node is to be created or deleted.'


def refuse_repeated(property_name: str, names: Sequence[str]) -> None:
    """A place that stands in a spec twice would have two weights.

    :raises ValueError: naming the first such place; the decoder adds where.
    """
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise ValueError(f'Expected each name once, got `{name}` again in `{property_name}[{i}]`')
        seen.add(name)


def refuse_unusable(what: str, names: Sequence[str]) -> None:
    """A spec may only name places that nodes can be created in.

    :raises InvalidSpec: naming all of these.
    """
    if names:
        listed = ', '.join(f'`{name}`' for name in names)
        raise InvalidSpec(f'The cloud has no usable {what} {listed}.')


def profile_of_new_node(request: CheckRequest) -> Profile | None:
    """The profile of the one node that a NODE_CREATE makes; None for any other action."""
    if request.action.action != actions.NODE_CREATE or request.action.node is None:
        return None
    return request.action.node.profile or request.cluster.profile


def plan_for(size: Size, places: Sequence[Place], located: Iterable[str | None]) -> Plan:
    """Plan the size over the places.

    :param located: the place of each node that is there now; None where it is unknown.
    :raises NoFeasiblePlan: more nodes than can be placed or removed.
    """
    current = Counter(located)
    unplaced = current.pop(None, 0)
    known = {name: count for name, count in current.items() if name is not None}
    if size.kind == CREATION:
        return grow(places, known, size.count)
    return shrink(places, known, unplaced, size.count)


def decided(data: Mapping[str, Any], size: Size, **plan: Any) -> dict[str, Any]:
    """The action's data with the count and the plan under `creation` or `deletion`."""
    return {**data, size.kind: {**data.get(size.kind, {}), 'count': size.count, **plan}}


def with_placements(data: Mapping[str, Any], entries: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The action's data with an entry a node to be created; what other policies said of a node stays.

    The engine creates nodes from this list alone; affinity keeps its `servergroup` here.
    """
    placement = data.get('placement')
    before = placement if isinstance(placement, dict) else {}
    said = before.get('placements')
    said = said if isinstance(said, list) else []
    merged = [
        {**(old if isinstance(old, dict) else {}), **new}
        for old, new in zip(chain(said, repeat({})), entries, strict=False)
    ]
    return {**data, 'placement': {**before, 'count': len(merged), 'placements': merged}}


def placed_node(request: CheckRequest, state: State, entry: Mapping[str, str]) -> dict[str, NodePatch]:
    """The patch that tells the node of a NODE_CREATE its place; {} for any other action."""
    node = request.action.node
    if request.action.action != actions.NODE_CREATE or node is None:
        return {}
    data = state.node_data(node)
    before = data.get('placement')
    placement = {**(before if isinstance(before, dict) else {}), **entry}
    return {node.id: NodePatch(data={**data, 'placement': placement})}


def members(request: CheckRequest) -> list[Node]:
    """The nodes that are there now."""
    return sizing.members(request.action, request.cluster)


def row(planned: Row, **more: str) -> dict[str, Any]:
    """A row of a plan as `details` show it; `ideal` to two decimals."""
    return {
        **more,
        'name': planned.name,
        'weight': planned.weight,
        'cap': planned.cap,
        'usable': planned.usable,
        'current': planned.current,
        'ideal': round(float(planned.ideal), 2),
        'planned': planned.planned,
        'final': planned.final,
        'note': planned.note,
    }


def summary(size: Size, what: str, places: int) -> str:
    """E.g. 3 nodes leave 2 zones."""
    one = size.count == 1
    verb = ('goes to' if one else 'go to') if size.kind == CREATION else ('leaves' if one else 'leave')
    return f'{size.count} node{"" if one else "s"} {verb} {places} {what}{"" if places == 1 else "s"}'
