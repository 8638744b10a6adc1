"""The victims of a deletion: order all nodes, then take as many per place as planned."""

import datetime
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, islice
from operator import attrgetter, itemgetter, not_
from typing import Any, Literal

from placement_worker.contract.cluster import Node, in_utc
from placement_worker.errors import NoFeasiblePlan
from placement_worker.formats.text import counted, shortened
from placement_worker.planning.places import NO_PLACE
from placement_worker.planning.protection import Protection

Criteria = Literal['RANDOM', 'OLDEST_FIRST', 'OLDEST_PROFILE_FIRST', 'YOUNGEST_FIRST']
Location = tuple[str, ...]
"""A zone, a region, or both as (region, zone)."""
UNKNOWN: Location = ()
"""The location of nodes whose place is unknown."""
PLACE_UNKNOWN = 'place unknown'
"""The reason of a healthy victim that a placement policy planned to delete from no known place."""

_UNHEALTHY, _NEVER_CREATED, _HEALTHY = range(3)
_REASONS = {_UNHEALTHY: 'unhealthy', _NEVER_CREATED: 'never created'}
FAILING = frozenset({'ERROR', 'WARNING'})
_MANY = 256  # nodes of which the first ones are separated before the sort
_SAMPLE, _MARGIN = 64, 5  # keys that estimate the limit; so many beyond it are rarely too few
_OLDEST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_CRITERION = {
    'RANDOM': 'random',
    'OLDEST_FIRST': 'oldest',
    'OLDEST_PROFILE_FIRST': 'oldest profile',
    'YOUNGEST_FIRST': 'youngest',
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The victims in the order of the reply, and the other nodes in the order of preference.

    `spared` can be read only once, because the order is read as far as needed. `unplaced`: the ids
    of the victims that were chosen because their place is unknown.
    `protected`: the nodes that could not be chosen, by id.
    """

    victims: Sequence[Node]
    spared: Iterator[Node]
    unplaced: frozenset[str] = frozenset()
    protected: Mapping[str, Protection] = field(default_factory=dict)


def order(
    nodes: Sequence[Node],
    criteria: Criteria,
    seed: str,
    exceptional: Sequence[Node] | None = None,
    count: int | None = None,
) -> Iterator[Node]:
    """Yield all nodes, the preferred victims first, independent of the order of the request.

    Unhealthy nodes come first, then nodes that were never created, then healthy nodes by criteria.
    Ties are broken by index, then id.

    :param seed: of the random order; the same seed and node ids give the same order.
    :param exceptional: those of the nodes that may be unhealthy or never created; None for all.
    :param count: how many nodes are read if all goes well, which takes less time; None for all.
    """
    count = len(nodes) if count is None else count
    by_index = _by_index(nodes)
    unhealthy, never_created = before_healthy(
        by_index if exceptional is None else _by_index(exceptional)
    )
    first = [*unhealthy, *never_created]
    yield from first
    if not first:
        yield from _by_criteria(by_index, criteria, seed, count)
        return
    ids = {node.id for node in first}
    if any(None in (node.created_at, node.profile_created_at) for node in first):
        # A missing time makes the sort several times slower.
        by_index = [node for node in by_index if node.id not in ids]
    for node in _by_criteria(by_index, criteria, seed, count):
        if node.id not in ids:
            yield node


def is_healthy(node: Node) -> bool:
    """Return whether a node leaves after the unhealthy and the never created ones."""
    return _group(node) == _HEALTHY


def before_healthy(nodes: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """Return the nodes that leave before healthy ones: unhealthy ones, and ones never created."""
    groups: tuple[list[Node], list[Node], list[Node]] = ([], [], [])
    for node in nodes:
        groups[_group(node)].append(node)
    unhealthy, never_created, _ = groups
    return unhealthy, never_created


def choose(
    ordered: Iterable[Node],
    count: int,
    removal_counts: Mapping[Location, int] | None,
    ordered_in: Callable[[Location, int], Iterable[Node]],
    unknown: Collection[Location] = (UNKNOWN,),
    protected_in: Callable[[Location], int] = lambda _: 0,
) -> Choice:
    """Choose the first `count` nodes, from each location as many as its removal count says.

    Each location's nodes are ordered on their own, which takes less time than to locate the first
    ones of all nodes.

    If the removal counts add up to less than `count`, the rest comes from nodes of unknown place.
    The victims stand in the order of `_in_rounds`. Without removal counts, the place does not
    matter and `count` may exceed the number of nodes. A location gives fewer victims than its
    removal count if its other nodes are protected.

    :param ordered: the result of `order`; it is read for `spared` or without removal counts.
    :param removal_counts: None if no policy planned; an empty plan takes all victims from nodes of
        unknown place.
    :param ordered_in: returns the nodes of a location in the same order; its second argument is the
        number that is read.
    :param unknown: the locations of nodes whose place is unknown.
    :param protected_in: returns how many nodes of a location stay and are not among `ordered`.
    :raises NoFeasiblePlan: a location holds fewer nodes than are to leave it; the text names it.
    """
    if removal_counts is None:
        rest = iter(ordered)
        return Choice([*islice(rest, count)], rest)
    asked = {UNKNOWN: max(0, count - sum(removal_counts.values())), **removal_counts}
    leaving = {
        place: [*islice(ordered_in(place, number), number)]
        for place, number in sorted(asked.items())
    }
    for location, nodes in leaving.items():
        if len(nodes) < asked[location]:
            _check_held(location, asked[location], len(nodes) + protected_in(location))
    unplaced = frozenset(node.id for location in unknown for node in leaving.get(location, ()))
    chosen = _in_rounds(leaving, unknown)
    return Choice(chosen, _without(ordered, chosen), unplaced)


def reason(node: Node, criteria: Criteria, unplaced: Collection[str] = (), place: str = '') -> str:
    """Return why a node has its rank, as one of a few phrases that can be counted.

    :param unplaced: as in `Choice`.
    :param place: the place among whose nodes the criteria chose a victim; empty to omit it.
    """
    group = _group(node)
    if group != _HEALTHY:
        return _REASONS[group]
    if node.id in unplaced:
        return PLACE_UNKNOWN
    return f'{_CRITERION[criteria]} in {place}' if place else _CRITERION[criteria]


def reason_counts(choice: Choice, criteria: Criteria) -> dict[str, int]:
    """Return how many victims have each reason."""
    groups = Counter(map(_group, choice.victims))
    unplaced = 0
    if choice.unplaced:
        found = (node for node in choice.victims if node.id in choice.unplaced)
        unplaced = [*map(_group, found)].count(_HEALTHY)
    counts = {
        **{_REASONS[group]: groups[group] for group in _REASONS},
        PLACE_UNKNOWN: unplaced,
        _CRITERION[criteria]: groups[_HEALTHY] - unplaced,
    }
    return {reason: number for reason, number in sorted(counts.items()) if number}


def _check_held(location: Location, asked: int, held: int) -> None:
    """Check that a location holds the nodes that are to leave it.

    :raises NoFeasiblePlan: naming the location that does not.
    """
    if asked > held:
        are = 'is' if asked == 1 else 'are'
        raise NoFeasiblePlan(
            f'{counted(asked, "node")} {are} to leave {_name(location)}, which holds {held}.'
        )


def _in_rounds(
    leaving: Mapping[Location, Sequence[Node]], unknown: Collection[Location]
) -> list[Node]:
    """Return the victims group by group, and in a group from one place after the other.

    An engine or a health floor may stop half way. The fuller a place is with victims, the earlier
    its first one stands, so that the cluster stays as even as it can.
    """
    ordered = []
    for location, nodes in leaving.items():
        after = Counter(map(_group, nodes))  # the victims from here to the end
        for node in nodes:
            group = _group(node)
            order = 0 if location in unknown else -after[group]
            ordered.append(((group, location not in unknown, order, location), node))
            after[group] -= 1
    return [node for _, node in sorted(ordered, key=itemgetter(0))]


def _without(nodes: Iterable[Node], others: Iterable[Node]) -> Iterator[Node]:
    ids = {node.id for node in others}
    yield from (node for node in nodes if node.id not in ids)


def _name(location: Location) -> str:
    return ' / '.join(map(shortened, location)) if location else NO_PLACE


def _group(node: Node) -> int:
    if node.tainted or node.status in FAILING:
        return _UNHEALTHY
    return _NEVER_CREATED if node.created_at is None else _HEALTHY


def _by_index(nodes: Sequence[Node]) -> Sequence[Node]:
    """Sort by index, then id; the id is left out, which is faster, where no index repeats."""
    if _is_by_index(nodes):  # Senlin lists nodes in this order
        return nodes
    repeats = len({node.index for node in nodes}) < len(nodes)
    return sorted(nodes, key=attrgetter('index', 'id') if repeats else attrgetter('index'))


def _is_by_index(nodes: Iterable[Node]) -> bool:
    """Return whether each node has a larger index than the one before it."""
    last = -math.inf
    for node in nodes:
        if node.index <= last:
            return False
        last = node.index
    return True


def _by_criteria(
    nodes: Sequence[Node], criteria: Criteria, seed: str, count: int
) -> Iterable[Node]:
    """Sort healthy nodes by a criterion; ties keep their order."""
    if criteria == 'RANDOM':
        return _sorted(nodes, _random_key(seed), count)
    time_of = attrgetter(
        'profile_created_at' if criteria == 'OLDEST_PROFILE_FIRST' else 'created_at'
    )
    youngest_first = criteria == 'YOUNGEST_FIRST'
    try:
        return _sorted(nodes, time_of, count, reverse=youngest_first)
    except TypeError:  # a time is missing, or some have no time zone
        comparable = lambda node: _comparable(time_of(node))  # noqa: E731
        return _sorted(nodes, comparable, count, reverse=youngest_first)


def _sorted(
    nodes: Sequence[Node], key: Callable[[Node], Any], count: int, *, reverse: bool = False
) -> Iterable[Node]:
    """Sort nodes as `sorted` does, of many nodes only the first ones at once.

    An estimated limit separates about `count` nodes, and some more, from the rest. The rest is
    sorted when the first ones have been read.

    :raises TypeError: two keys cannot be compared.
    """
    if len(nodes) < _MANY or 2 * count > len(nodes):
        return sorted(nodes, key=key, reverse=reverse)
    keys = [*map(key, nodes)]
    sample = sorted(keys[:: len(keys) // _SAMPLE], reverse=reverse)
    limit = sample[len(sample) * count // len(keys) + _MARGIN]
    is_first = [one >= limit for one in keys] if reverse else [one <= limit for one in keys]
    first = sorted(compress(nodes, is_first), key=key, reverse=reverse)

    def rest() -> Iterator[Node]:
        yield from sorted(compress(nodes, map(not_, is_first)), key=key, reverse=reverse)

    return chain(first, rest())


def _comparable(moment: datetime.datetime | None) -> datetime.datetime:
    """Return a time with a time zone; a missing time is the oldest."""
    return _OLDEST if moment is None else in_utc(moment)


def _random_key(seed: str) -> Callable[[Node], bytes]:
    """Return a sort key that depends on the seed and the node's id alone, on every machine."""
    start = hashlib.blake2b(seed.encode() + b'\0', digest_size=8)

    def key(node: Node) -> bytes:
        hashed = start.copy()
        hashed.update(node.id.encode())
        return hashed.digest()

    return key
