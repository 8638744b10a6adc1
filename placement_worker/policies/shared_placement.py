"""What zone and region placement have in common: how a plan becomes action data, node data and
details.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, Placement
from placement_worker.contract.model import CheckRequest, Node, NodePatch, Profile
from placement_worker.errors import InvalidSpec
from placement_worker.planning import victims
from placement_worker.planning.placement import Located, Place, Plan, Row, grow, shrink, total
from placement_worker.planning.sizing import Size
from placement_worker.policies.base import BEFORE, State, on

TARGETS = on(
    BEFORE,
    actions.CLUSTER_SCALE_OUT,
    actions.CLUSTER_SCALE_IN,
    actions.CLUSTER_RESIZE,
    actions.NODE_CREATE,
)
HEAVIEST = 2**31 - 1  # a bound on weights and caps, so that planning takes no longer than it should
NOTHING_TO_DO = 'No node is to be created or deleted.'
T = TypeVar('T', bound=Hashable)


def refuse_repeated(property_name: str, names: Sequence[str]) -> None:
    """A place that stands in a spec twice would have two weights.

    :raises ValueError: naming the first such place; the decoder adds where.
    """
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise ValueError(
                f'Expected each name once, got `{name}` again in `{property_name}[{i}]`'
            )
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


def plan_for(size: Size, places: Sequence[Place], groups: Sequence[Located]) -> Plan:
    """Plan the size over the places.

    :param groups: as `in_groups` counts them.
    :raises NoFeasiblePlan: more nodes than can be placed or removed.
    """
    if size.kind == CREATION:
        return grow(places, total(groups), size.count)
    return shrink(places, groups, size.count)


def in_groups(
    size: Size, nodes: Sequence[Node], count: Callable[[Sequence[Node]], Counter[T]]
) -> list[Counter[T]]:
    """Count the nodes of each group in which they leave; a creation has one group, of all nodes.

    Few nodes are unhealthy or were never created. All nodes are therefore counted in one pass,
    which other policies share, and the few in a second one.
    """
    everywhere = count(nodes)
    if size.kind == CREATION:
        return [everywhere]
    first = [count(group) for group in victims.before_healthy(nodes)]
    return [*first, everywhere - first[0] - first[1]]


def placed_node(
    request: CheckRequest, state: State, entry: Mapping[str, str]
) -> dict[str, NodePatch]:
    """Return the patch that records the place of the node of a NODE_CREATE.

    The result is {} if the node's data has the place, and for any other action.
    """
    node = request.action.node
    if request.action.action != actions.NODE_CREATE or node is None:
        return {}
    data = state.node_data(node)
    placement = Placement(data.get('placement'))
    if placement.is_at(entry):
        return {}
    return {node.id: NodePatch(data={**data, 'placement': placement.moved(entry)})}


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
    one, creates = size.count == 1, size.kind == CREATION
    if places:
        verb = ('goes to' if one else 'go to') if creates else ('leaves' if one else 'leave')
        told = f'{verb} {places} {what}{"" if places == 1 else "s"}'
    elif creates:
        told = f'{"is" if one else "are"} created without a {what}'
    else:
        told = f'of no known {what} {"leaves" if one else "leave"}'
    return size.explained(f'{size.count} node{"" if one else "s"} {told}')
