"""In which order the planned nodes are created.

:source: spec.md 3; the engine creates nodes in list order, and may stop half way. Steiner and
    Yeomans, Level schedules for mixed-model, just-in-time processes (1993).
"""

import heapq
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

G = TypeVar('G', bound=Hashable)
T = TypeVar('T', bound=Hashable)


def deal(counts: Mapping[T, int]) -> list[T]:
    """Order places so that every prefix is spread as evenly as possible; see `deal_in_groups`.

    :param counts: place -> nodes planned there, >= 0.
    :returns: one place a node; each place as often as planned.
    """
    everywhere = sum(counts.values()) * [None]
    return [place for _, place in _deal({None: counts}, everywhere)]


def deal_in_groups(groups: Mapping[G, Mapping[T, int]]) -> list[tuple[G, T]]:
    """The same for places in regions: spread over the regions, and over the places of all of them.

    In no prefix of k entries is a place or a region a whole node or more ahead of its share, ``k *
    count / total``.

    :param groups: region -> place -> nodes planned there, >= 0.
    """
    return _deal(groups, deal({group: sum(counts.values()) for group, counts in groups.items()}))


def _deal(groups: Mapping[G, Mapping[T, int]], turns: list[G]) -> list[tuple[G, T]]:
    """Give each turn to a place of its group.

    A place's j-th entry (from 0) is released when its share allows it. At each turn its group has
    one: the shares of its places add up to its own, which it is not ahead of. Of these the one goes
    that would first fall behind its share (earliest deadline; ties in the order of `groups`).
    """
    total = len(turns)
    released: list[list[tuple[G, int, int, T]]] = [[] for _ in turns]
    places = [
        (group, place, count) for group, counts in groups.items() for place, count in counts.items()
    ]
    for order, (group, place, count) in enumerate(places):
        for j in range(count):
            deadline = -(-(j + 1) * total // count)
            released[j * total // count].append((group, deadline, order, place))
    waiting: dict[G, list[Any]] = {group: [] for group in groups}
    dealt = []
    for turn, newly in zip(turns, released, strict=True):
        for group, deadline, order, place in newly:
            heapq.heappush(waiting[group], (deadline, order, place))
        dealt.append((turn, heapq.heappop(waiting[turn])[-1]))
    return dealt
