"""The number of nodes that an action creates or deletes, the same for all policies.

A resize follows Senlin to the letter, errors included, since its engine computes the size as well:
another number would make the engine create or delete other nodes than the policies decided. The
second part of the module warns of sizes that Senlin accepts, or refuses only afterwards.

:source: senlin/common/scaleutils.py of release 16.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData, ChangeKind
from placement_worker.contract.inputs import ResizeInputs
from placement_worker.contract.model import Action, CheckRequest, Cluster, Node
from placement_worker.errors import Rejected, SizeOutOfBounds
from placement_worker.formats.text import counted
from placement_worker.planning import victims
from placement_worker.planning.victims import Protection

_OF_ONE_NODE: Mapping[str, ChangeKind] = {
    actions.NODE_CREATE: CREATION,
    actions.NODE_DELETE: DELETION,
}
_OF_CANDIDATES = (actions.CLUSTER_DEL_NODES, actions.CLUSTER_REPLACE_NODES)
# Action -> the changes that another policy may have decided; the first of any nodes counts.
_CHANGES: Mapping[str, tuple[ChangeKind, ...]] = {
    actions.CLUSTER_SCALE_OUT: (CREATION,),
    actions.CLUSTER_SCALE_IN: (DELETION,),
    actions.CLUSTER_RESIZE: (CREATION, DELETION),
}
_PERCENTAGE = 'CHANGE_IN_PERCENTAGE'
_GROWING = (actions.CLUSTER_SCALE_OUT, actions.NODE_CREATE)
# The engine does not refuse these actions below min_size.
_REGARDLESS_OF_MIN_SIZE = (actions.CLUSTER_RESIZE, actions.CLUSTER_REPLACE_NODES)


class Size(Struct, frozen=True):
    """`count` nodes, >= 0, to create (`creation`) or to delete (`deletion`).

    `limit`: the bound of the cluster's size that changed the number asked for, in words.
    """

    kind: ChangeKind
    count: int
    limit: str = ''

    def explained(self, reason: str) -> str:
        return f'{reason.rstrip(".")}; {self.limit}' if self.limit else reason


def size_of(action: Action, data: ActionData, cluster: Cluster, max_nodes: int) -> Size:
    """Return how many nodes the action creates or deletes.

    :param data: the action's data after the policies that ran before.
    :raises InvalidInput: a value in `inputs` or `data` is malformed.
    :raises SizeOutOfBounds: the size afterwards is not allowed, in Senlin's words.
    """
    held = len(current_nodes(action, cluster))
    size = _size_of(action, data, cluster, max_nodes)
    if action.action == actions.CLUSTER_RESIZE:
        _check_named(action, data, size)
    if size.kind == CREATION and size.count and held + size.count > max_nodes:
        raise _too_large(held + size.count, max_nodes)
    return size


def with_size_of_resize(
    action: Action, data: ActionData, cluster: Cluster, max_nodes: int
) -> Mapping[str, Any]:
    """Return the data of a resize with its number of nodes, as Senlin's engine adds it.

    Without it, an engine that follows `inputs` would exceed the bounds that trim the resize.
    """
    if CREATION in data.data or DELETION in data.data:
        return data.data
    size = size_of(action, data, cluster, max_nodes)
    return {**data.data, size.kind: {'count': size.count}}


def current_nodes(action: Action, cluster: Cluster) -> list[Node]:
    """Return the nodes that exist; the cluster may already list the one of a NODE_CREATE."""
    if action.action != actions.NODE_CREATE or action.node is None:
        return cluster.nodes
    return [node for node in cluster.nodes if node.id != action.node.id]


def _size_of(action: Action, data: ActionData, cluster: Cluster, max_nodes: int) -> Size:
    if action.action in _OF_ONE_NODE:
        return Size(_OF_ONE_NODE[action.action], 1)
    decided = _named(action, data) or _decided(action, data)
    if decided is not None:
        return decided
    if action.action == actions.CLUSTER_RESIZE:
        return _size_of_resize(action, cluster, max_nodes)
    if action.action in _CHANGES:
        return Size(_CHANGES[action.action][0], action.scale_inputs.count)
    if action.action in _OF_CANDIDATES:
        return Size(DELETION, len(action.candidate_inputs.candidates or ()))
    return Size(CREATION, 0)


def _named(action: Action, data: ActionData) -> Size | None:
    """The names of a scale-in replace its count."""
    if action.action != actions.CLUSTER_SCALE_IN or not action.candidate_inputs.candidates:
        return None
    chosen = data.deletion.candidate_count or len(action.candidate_inputs.candidates)
    return Size(DELETION, chosen)


def _decided(action: Action, data: ActionData) -> Size | None:
    changes = data.decided(_CHANGES.get(action.action, ())) if data.data else []
    if not changes:
        return None
    sizes = [Size(change.kind, change.count) for change in changes]
    return next((size for size in sizes if size.count), sizes[0])


def _check_named(action: Action, data: ActionData, size: Size) -> None:
    named = action.candidate_inputs.candidates or ()
    removed = size.count if size.kind == DELETION else 0
    if len(named) > removed and not data.deletion.candidates:
        raise SizeOutOfBounds(
            f'The action names {counted(len(named), "node")} to delete, but removes only {removed}.'
        )


def _size_of_resize(action: Action, cluster: Cluster, max_nodes: int) -> Size:
    inputs, current = action.resize_inputs, len(cluster.nodes)
    requested, desired = _requested_size(inputs, current), _desired_size(inputs, cluster, max_nodes)
    limit = ''
    if desired != requested:
        limit = f'limited to {desired} in all by {_bound_of(inputs, requested, desired)}'
    change = desired - current
    return Size(CREATION, change, limit) if change >= 0 else Size(DELETION, -change, limit)


def _desired_size(inputs: ResizeInputs, cluster: Cluster, max_nodes: int) -> int:
    current = len(cluster.nodes)
    desired = _requested_size(inputs, current)
    if not inputs.strict:
        desired = _within_bounds(desired, inputs, cluster)
    if current < desired > max_nodes:
        raise _too_large(desired, max_nodes)
    # The first violated bound is Senlin's error.
    violation = next(_violations(desired, inputs, cluster, max_nodes), None)
    if violation:
        raise SizeOutOfBounds(violation)
    return desired


def _within_bounds(desired: int, inputs: ResizeInputs, cluster: Cluster) -> int:
    """A maximum below zero is unlimited. A maximum below the minimum wins."""
    floor = cluster.min_size if inputs.min_size is None else inputs.min_size
    ceiling = cluster.max_size if inputs.max_size is None else inputs.max_size
    desired = max(desired, floor)
    return min(desired, ceiling) if ceiling >= 0 else desired


def _bound_of(inputs: ResizeInputs, requested: int, desired: int) -> str:
    if desired < requested:
        name, bound = 'max_size', inputs.max_size
    else:
        name, bound = 'min_size', inputs.min_size
    return f"the {'cluster' if bound is None else 'request'}'s {name}"


def _requested_size(inputs: ResizeInputs, current: int) -> int:
    if inputs.number is None:
        return current
    if inputs.adjustment_type == _PERCENTAGE:
        return current + _percentage(inputs.number, current, inputs.min_step)
    number = int(inputs.number)
    return number if inputs.adjustment_type == 'EXACT_CAPACITY' else current + number


def _percentage(number: float, current: int, min_step: int) -> int:
    """A change of less than one node counts as one node; a larger one drops its fraction."""
    delta = Fraction(str(number)) * current / 100
    size = abs(delta)
    rounded = math.ceil(size) if size < 1 else math.floor(size)
    if 0 < rounded < min_step:
        rounded = min_step
    return rounded if delta > 0 else -rounded


def _too_large(desired: int, max_nodes: int) -> SizeOutOfBounds:
    return SizeOutOfBounds(
        f'The target capacity ({desired}) is greater than the maximum number of nodes '
        f'allowed per cluster ({max_nodes}).'
    )


def _violations(
    desired: int, inputs: ResizeInputs, cluster: Cluster, max_nodes: int
) -> Iterator[str]:
    min_size, max_size, strict = inputs.min_size, inputs.max_size, inputs.strict
    low, high = cluster.min_size, cluster.max_size
    target = f'The target capacity ({desired})'
    if min_size is not None and desired < min_size:
        yield f'{target} is less than the specified min_size ({min_size}).'
    if min_size is None and strict and desired < low:
        yield f"{target} is less than the cluster's min_size ({low})."
    if _exceeds(desired, max_size):
        yield f'{target} is greater than the specified max_size ({max_size}).'
    if max_size is None and strict and _exceeds(desired, high):
        yield f"{target} is greater than the cluster's max_size ({high})."
    lower, upper = f'The specified min_size ({min_size})', f'The specified max_size ({max_size})'
    if _exceeds(min_size, max_size):
        yield f'{lower} is greater than the specified max_size ({max_size}).'
    if max_size is None and _exceeds(min_size, high):
        yield f'{lower} is greater than the current max_size ({high}) of the cluster.'
    if max_size is not None and max_size > max_nodes:
        allowed = f'the maximum number of nodes allowed per cluster ({max_nodes})'
        yield f'{upper} is greater than {allowed}.'
    if min_size is None and _exceeds(low, max_size):
        yield f'{upper} is less than the current min_size ({low}) of the cluster.'


def _exceeds(size: int | None, limit: int | None) -> bool:
    """None, or a limit below zero, is unlimited."""
    return size is not None and limit is not None and 0 <= limit < size


# Warnings of sizes.


def size_warnings(
    request: CheckRequest, data: ActionData, max_nodes: int, protections: Mapping[str, Protection]
) -> list[str]:
    """Return warnings of a resize that a bound changes, and of too few or too many nodes.

    :param data: the action's data after all policies have decided.
    :param protections: if no policy has chosen victims, the engine must not choose these nodes.
    """
    action, cluster = request.action, request.cluster
    try:
        if action.action in _GROWING:
            return _growth_warnings(action, cluster, data, max_nodes)
        return [
            *_resize_warnings(action, cluster, max_nodes),
            *_removal_warnings(action, cluster, data, max_nodes, protections),
        ]
    except Rejected:  # the invalid value did not matter to any policy
        return []


def is_below_min_size(action: Action, cluster: Cluster, removed: int) -> bool:
    if action.action in _REGARDLESS_OF_MIN_SIZE or not 0 < removed <= len(cluster.nodes):
        return False
    return len(cluster.nodes) - removed < cluster.min_size


def excess_removal(count: int, cluster: Cluster) -> tuple[str, ...]:
    held = len(cluster.nodes)
    if count <= held:
        return ()
    return (f'The action asks to remove {counted(count, "node")}, but the cluster has {held}',)


def _growth_warnings(
    action: Action, cluster: Cluster, data: ActionData, max_nodes: int
) -> list[str]:
    created = size_of(action, data, cluster, max_nodes).count
    size = len(current_nodes(action, cluster)) + created
    if not created or not _exceeds(size, cluster.max_size):
        return []
    return [
        f"The action leads to {counted(size, 'node')}, more than the cluster's max_size "
        f'({cluster.max_size}): the engine must refuse it'
    ]


def _resize_warnings(action: Action, cluster: Cluster, max_nodes: int) -> Iterator[str]:
    is_decided = CREATION in action.data or DELETION in action.data
    if action.action != actions.CLUSTER_RESIZE or is_decided:
        return
    inputs, current = action.resize_inputs, len(cluster.nodes)
    if not current and inputs.number and inputs.adjustment_type == _PERCENTAGE:
        yield (
            f'The resize asks to {"add" if inputs.number > 0 else "remove"} {abs(inputs.number)}% '
            'of 0 nodes, and a percentage of 0 is 0; use CHANGE_IN_CAPACITY or EXACT_CAPACITY'
        )
    requested, desired = _requested_size(inputs, current), _desired_size(inputs, cluster, max_nodes)
    if requested != desired:
        is_reversed = (requested - current) * (desired - current) < 0
        yield (
            f'The resize asks to {_change(requested - current)}; '
            f'{_bound_of(inputs, requested, desired)} ({desired}) '
            f'{"reverses" if is_reversed else "limits"} it to {_change(desired - current)}'
        )


def _change(difference: int) -> str:
    if not difference:
        return 'change nothing'
    return f'{"add" if difference > 0 else "remove"} {counted(abs(difference), "node")}'


def _removal_warnings(
    action: Action,
    cluster: Cluster,
    data: ActionData,
    max_nodes: int,
    protections: Mapping[str, Protection],
) -> Iterator[str]:
    held, requested = len(cluster.nodes), _removed(action, cluster, data, max_nodes)
    removed = min(requested, held - len(protections))
    if 0 < held <= removed and action.action != actions.CLUSTER_REPLACE_NODES:
        which = 'the only node' if held == 1 else f'all {held} nodes'
        yield f'The action removes {which} of the cluster'
    if is_below_min_size(action, cluster, removed):
        yield (
            f"The action leaves {counted(held - removed, 'node')}, fewer than the cluster's "
            f'min_size ({cluster.min_size}): the engine must refuse it'
        )
    wanted = min(requested, held)
    if removed < wanted:
        yield victims.too_few_victims(removed, wanted, protections)


def _removed(action: Action, cluster: Cluster, data: ActionData, max_nodes: int) -> int:
    candidates = data.deletion.candidate_count
    if candidates is not None:
        return candidates
    size = size_of(action, data, cluster, max_nodes)
    return size.count if size.kind == DELETION else 0
