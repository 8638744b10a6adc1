"""The size that a CLUSTER_RESIZE leads to.

:source: senlin/common/scaleutils.py of release 16; the texts of the errors are Senlin's.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from placement_worker.contract.inputs import ResizeInputs
from placement_worker.contract.model import Cluster
from placement_worker.errors import SizeOutOfBounds


def desired_size(inputs: ResizeInputs, cluster: Cluster, max_nodes: int) -> int:
    """Return the size that a CLUSTER_RESIZE leads to.

    :raises SizeOutOfBounds: the cluster, the inputs or the service do not allow that size.
    """
    current = len(cluster.nodes)
    desired = asked_size(inputs, current)
    if not inputs.strict:
        desired = _within_bounds(desired, inputs, cluster)
    if current < desired > max_nodes:
        raise too_large(desired, max_nodes)
    _check_bounds(desired, inputs, cluster, max_nodes)
    return desired


def _within_bounds(desired: int, inputs: ResizeInputs, cluster: Cluster) -> int:
    """Return the allowed size closest to the desired one.

    A maximum below zero is unlimited. Where minimum and maximum contradict each other, the maximum
    wins.
    """
    floor = cluster.min_size if inputs.min_size is None else inputs.min_size
    ceiling = cluster.max_size if inputs.max_size is None else inputs.max_size
    desired = max(desired, floor)
    return min(desired, ceiling) if ceiling >= 0 else desired


def limit_of(inputs: ResizeInputs, cluster: Cluster, desired: int) -> str:
    """Return in words which bound changed the size asked for; empty if none did.

    :param desired: the result of `desired_size`.
    """
    asked = asked_size(inputs, len(cluster.nodes))
    if desired == asked:
        return ''
    return f'limited to {desired} in all by {bound_of(inputs, asked, desired)}'


def bound_of(inputs: ResizeInputs, asked: int, desired: int) -> str:
    """Return the bound that changed the size asked for, e.g. "the cluster's max_size"."""
    if desired < asked:
        name, requested = 'max_size', inputs.max_size
    else:
        name, requested = 'min_size', inputs.min_size
    return f"the {'cluster' if requested is None else 'request'}'s {name}"


def asked_size(inputs: ResizeInputs, current: int) -> int:
    """Return the size that the adjustment alone leads to."""
    if inputs.number is None:
        return current
    if inputs.adjustment_type == 'CHANGE_IN_PERCENTAGE':
        return current + _percentage(inputs.number, current, inputs.min_step)
    number = int(inputs.number)
    return number if inputs.adjustment_type == 'EXACT_CAPACITY' else current + number


def _percentage(number: float, current: int, min_step: int) -> int:
    """Return `number` percent of the current size as whole nodes.

    A change of less than one node counts as one node; a larger one drops its fraction.
    """
    delta = Fraction(str(number)) * current / 100
    size = abs(delta)
    rounded = math.ceil(size) if size < 1 else math.floor(size)
    if 0 < rounded < min_step:
        rounded = min_step
    return rounded if delta > 0 else -rounded


def too_large(desired: int, max_nodes: int) -> SizeOutOfBounds:
    """Return the error, in Senlin's words, of a size above the maximum of the service."""
    return SizeOutOfBounds(
        f'The target capacity ({desired}) is greater than the maximum number of nodes '
        f'allowed per cluster ({max_nodes}).'
    )


def _check_bounds(desired: int, inputs: ResizeInputs, cluster: Cluster, max_nodes: int) -> None:
    """Raise the error of the first bound that Senlin would find violated, in its order."""
    bounds = (*_of_target(desired, inputs, cluster), *_of_limits(inputs, cluster, max_nodes))
    for is_violated, reason in bounds:
        if is_violated:
            raise SizeOutOfBounds(reason)


def _of_target(desired: int, inputs: ResizeInputs, cluster: Cluster) -> Iterator[tuple[bool, str]]:
    """Yield whether each bound of the desired size is violated, with the text of Senlin's error."""
    min_size, max_size, strict = inputs.min_size, inputs.max_size, inputs.strict
    low, high = cluster.min_size, cluster.max_size
    target = f'The target capacity ({desired})'
    yield (
        min_size is not None and desired < min_size,
        f'{target} is less than the specified min_size ({min_size}).',
    )
    yield (
        min_size is None and strict and desired < low,
        f"{target} is less than the cluster's min_size ({low}).",
    )
    yield (
        exceeds(desired, max_size),
        f'{target} is greater than the specified max_size ({max_size}).',
    )
    yield (
        max_size is None and strict and exceeds(desired, high),
        f"{target} is greater than the cluster's max_size ({high}).",
    )


def _of_limits(
    inputs: ResizeInputs, cluster: Cluster, max_nodes: int
) -> Iterator[tuple[bool, str]]:
    """Yield whether the new limits contradict each other, with the text of Senlin's error."""
    min_size, max_size = inputs.min_size, inputs.max_size
    low, high = cluster.min_size, cluster.max_size
    yield (
        exceeds(min_size, max_size),
        f'The specified min_size ({min_size}) is greater than the specified max_size ({max_size}).',
    )
    yield (
        max_size is None and exceeds(min_size, high),
        f'The specified min_size ({min_size}) is greater than the current max_size ({high}) of '
        'the cluster.',
    )
    yield (
        max_size is not None and max_size > max_nodes,
        f'The specified max_size ({max_size}) is greater than the maximum number of nodes '
        f'allowed per cluster ({max_nodes}).',
    )
    yield (
        min_size is None and exceeds(low, max_size),
        f'The specified max_size ({max_size}) is less than the current min_size ({low}) of the '
        'cluster.',
    )


def exceeds(size: int | None, limit: int | None) -> bool:
    """Return whether a size exceeds a limit; None or a limit below zero is unlimited."""
    return size is not None and limit is not None and 0 <= limit < size
