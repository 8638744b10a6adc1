"""In which order the planned nodes are created."""

import heapq
from collections.abc import Hashable, Mapping
from typing import TypeVar

T = TypeVar('T', bound=Hashable)


def deal(counts: Mapping[T, int]) -> list[T]:
    """Order places so that every prefix is spread as evenly as possible.

    In no prefix of k entries is a place a whole node or more ahead of its share, ``k * count / total``:
    its j-th entry (from 0) is released when that allows it, and of the released ones the one that would
    first fall behind its share goes first (earliest deadline; ties in the order of `counts`).

    :param counts: place -> nodes planned there, >= 0.
    :returns: one place a node; each place as often as planned.
    :source: spec.md 3; the engine creates nodes in list order, and may stop half way. Steiner and
        Yeomans, Level schedules for mixed-model, just-in-time processes (1993).
    """
    total = sum(counts.values())
    released: list[list[tuple[int, int, T]]] = [[] for _ in range(total)]
    for order, (place, count) in enumerate(counts.items()):
        for j in range(count):
            deadline = -(-(j + 1) * total // count)
            released[j * total // count].append((deadline, order, place))
    waiting: list[tuple[int, int, T]] = []
    dealt = []
    for newly in released:
        for entry in newly:
            heapq.heappush(waiting, entry)
        dealt.append(heapq.heappop(waiting)[-1])
    return dealt
