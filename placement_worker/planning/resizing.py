"""The size that a CLUSTER_RESIZE leads to.

:source: spec.md 2; senlin/common/scaleutils.py of release 16 (the texts of the errors are its own).
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from placement_worker.contract.inputs import INPUTS, LARGEST, integer, optional, shown
from placement_worker.contract.model import Cluster
from placement_worker.errors import InvalidInput, SizeOutOfBounds

EXACT_CAPACITY = 'EXACT_CAPACITY'
CHANGE_IN_CAPACITY = 'CHANGE_IN_CAPACITY'
CHANGE_IN_PERCENTAGE = 'CHANGE_IN_PERCENTAGE'


def desired_size(inputs: Mapping[str, Any], cluster: Cluster, max_nodes: int) -> int:
    """The size that a CLUSTER_RESIZE asks for, checked."""
    current = len(cluster.nodes)
    min_size = optional(inputs, 'min_size')
    max_size = inputs.get('max_size')
    if max_size is not None:
        max_size = integer(max_size, f'{INPUTS}.max_size')
    strict = inputs.get('strict')
    if not isinstance(strict, bool | None):
        raise InvalidInput(f'Expected `bool`, got {shown(strict)} - at `{INPUTS}.strict`')
    desired = asked_size(inputs, current)
    if not strict:
        desired = max(desired, cluster.min_size if min_size is None else min_size)
        ceiling = cluster.max_size if max_size is None else max_size
        desired = min(desired, ceiling) if ceiling >= 0 else desired
    if desired > current:
        check_total(desired, max_nodes)
    _check_bounds(desired, min_size, max_size, cluster, bool(strict), max_nodes)
    return desired


def limit(inputs: Mapping[str, Any], cluster: Cluster, desired: int) -> str:
    """Which bound changed the size that a CLUSTER_RESIZE asks for, in words; empty if none did.

    :param desired: what `desired_size` says.
    """
    asked = asked_size(inputs, len(cluster.nodes))
    return (
        ''
        if desired == asked
        else f'limited to {desired} in all by {bound_of(inputs, asked, desired)}'
    )


def bound_of(inputs: Mapping[str, Any], asked: int, desired: int) -> str:
    """Return the bound that changed the size asked for, e.g. "the cluster's max_size"."""
    bound = 'max_size' if desired < asked else 'min_size'
    return f"the {'cluster' if inputs.get(bound) is None else 'request'}'s {bound}"


def asked_size(inputs: Mapping[str, Any], current: int) -> int:
    """The size that the adjustment alone leads to."""
    adjustment = inputs.get('adjustment_type')
    min_step = optional(inputs, 'min_step') or 0
    if adjustment is None:
        return current
    if adjustment not in (EXACT_CAPACITY, CHANGE_IN_CAPACITY, CHANGE_IN_PERCENTAGE):
        raise InvalidInput(
            f'Expected one of `{EXACT_CAPACITY}`, `{CHANGE_IN_CAPACITY}`, `{CHANGE_IN_PERCENTAGE}`, '
            f'got {shown(adjustment)} - at `{INPUTS}.adjustment_type`'
        )
    if adjustment == CHANGE_IN_PERCENTAGE:
        return current + _percentage(inputs.get('number'), current, min_step)
    number = integer(inputs.get('number'), f'{INPUTS}.number')
    return number if adjustment == EXACT_CAPACITY else current + number


def _percentage(number: object, current: int, min_step: int) -> int:
    """`number` percent of the current size, away from zero below one node, else toward zero."""
    if (
        isinstance(number, bool)
        or not isinstance(number, (int, float))
        or not -LARGEST <= number <= LARGEST
    ):
        raise InvalidInput(
            f'Expected a number of percent, got {shown(number)} - at `{INPUTS}.number`'
        )
    delta = Fraction(str(number)) * current / 100
    size = abs(delta)
    rounded = math.ceil(size) if size < 1 else math.floor(size)
    if 0 < rounded < min_step:
        rounded = min_step
    return rounded if delta > 0 else -rounded


def check_total(desired: int, max_nodes: int) -> None:
    """Refuse a size above what the service allows.

    :raises SizeOutOfBounds: as Senlin puts it.
    """
    if desired > max_nodes:
        raise SizeOutOfBounds(
            f'The target capacity ({desired}) is greater than the maximum number of nodes allowed per '
            f'cluster ({max_nodes}).'
        )


def _check_bounds(
    desired: int,
    min_size: int | None,
    max_size: int | None,
    cluster: Cluster,
    strict: bool,
    max_nodes: int,
) -> None:
    """Senlin's checks of a resize, in its order."""
    target = f'The target capacity ({desired})'
    low, high = cluster.min_size, cluster.max_size
    for wrong, reason in (
        (
            min_size is not None and desired < min_size,
            f'{target} is less than the specified min_size ({min_size}).',
        ),
        (
            min_size is None and strict and desired < low,
            f"{target} is less than the cluster's min_size ({low}).",
        ),
        (
            _beyond(desired, max_size),
            f'{target} is greater than the specified max_size ({max_size}).',
        ),
        (
            max_size is None and strict and _beyond(desired, high),
            f"{target} is greater than the cluster's max_size ({high}).",
        ),
        (
            _beyond(min_size, max_size),
            f'The specified min_size ({min_size}) is greater than the specified max_size ({max_size}).',
        ),
        (
            max_size is None and _beyond(min_size, high),
            f'The specified min_size ({min_size}) is greater than the current max_size ({high}) of the cluster.',
        ),
        (
            max_size is not None and max_size > max_nodes,
            f'The specified max_size ({max_size}) is greater than the maximum number of nodes allowed per '
            f'cluster ({max_nodes}).',
        ),
        (
            min_size is None and _beyond(low, max_size),
            f'The specified max_size ({max_size}) is less than the current min_size ({low}) of the cluster.',
        ),
    ):
        if wrong:
            raise SizeOutOfBounds(reason)


def _beyond(size: int | None, limit: int | None) -> bool:
    """Whether a size exceeds a limit; none, or one below zero, is no limit."""
    return size is not None and limit is not None and 0 <= limit < size
