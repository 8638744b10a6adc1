"""The order in which planned nodes are created, interleaved over the places.

The engine creates nodes in the order of the list and may stop halfway. Every prefix is therefore
spread as evenly as possible.

:source: Steiner and Yeomans, Level schedules for mixed-model, just-in-time processes, Management
    Science 39 (6), 1993.
"""

import heapq
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

G = TypeVar('G', bound=Hashable)
T = TypeVar('T', bound=Hashable)


def interleave_groups(groups: Mapping[G, Mapping[T, int]]) -> list[tuple[G, T]]:
    """Order places of several regions, spread over the regions and over all places.

    In a prefix of k entries, no place and no region exceeds its share, ``k * count / total``, by a
    whole node or more.

    :param groups: region -> place -> number of nodes planned there, >= 0.
    :returns: one region and place per node.
    """
    totals = {group: sum(counts.values()) for group, counts in groups.items()}
    slots = _fill({None: totals}, sum(totals.values()) * [None])
    return _fill(groups, [group for _, group in slots])


def _fill(groups: Mapping[G, Mapping[T, int]], slots: list[G]) -> list[tuple[G, T]]:
    """The j-th entry of a place (from 0) is released when the share of the place allows it.

    At each slot the group has a released entry: the shares of its places add up to that of the
    group, which does not exceed its own share. Among the released entries the one that would first
    fall behind its share is next (earliest deadline). Ties follow the order of `groups`.
    """
    total = len(slots)
    released: list[list[tuple[G, int, int, T]]] = [[] for _ in slots]
    places = [
        (group, place, count) for group, counts in groups.items() for place, count in counts.items()
    ]
    for order, (group, place, count) in enumerate(places):
        for j in range(count):
            deadline = -(-(j + 1) * total // count)
            released[j * total // count].append((group, deadline, order, place))
    waiting: dict[G, list[Any]] = {group: [] for group in groups}
    filled = []
    for slot, entries in zip(slots, released, strict=True):
        for group, deadline, order, place in entries:
            heapq.heappush(waiting[group], (deadline, order, place))
        filled.append((slot, heapq.heappop(waiting[slot])[-1]))
    return filled
