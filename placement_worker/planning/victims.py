"""The victims of a deletion: order all nodes, then take as many per place as planned."""

import datetime
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter, lt
from typing import Literal

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
FAILING = frozenset({'ERROR', 'WARNING'})
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
) -> Iterator[Node]:
    """Yield all nodes, the preferred victims first, independent of the order of the request.

    Unhealthy nodes come first, then nodes that were never created, then healthy nodes by criteria.
    Ties are broken by index, then id.

    :param seed: of the random order; the same seed and node ids give the same order.
    :param exceptional: those of the nodes that may be unhealthy or never created; None for all.
    """
    by_index = _by_index(nodes)
    unhealthy, never_created = before_healthy(
        by_index if exceptional is None else _by_index(exceptional)
    )
    first = [*unhealthy, *never_created]
    yield from first
    if not first:
        yield from _by_criteria(by_index, criteria, seed)
        return
    ids = {node.id for node in first}
    if any(None in (node.created_at, node.profile_created_at) for node in first):
        # A missing time makes the sort several times slower.
        by_index = [node for node in by_index if node.id not in ids]
    for node in _by_criteria(by_index, criteria, seed):
        if node.id not in ids:
            yield node


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
    location_of: Callable[[Node], Location],
    unknown: Collection[Location] = (UNKNOWN,),
    protected: Iterable[Node] = (),
) -> Choice:
    """Choose the first `count` nodes, from each location as many as its removal count says.

    If the removal counts add up to less than `count`, the rest comes from nodes of unknown place,
    which stand first in the result. The other victims follow location by location, in the order of
    names. Without removal counts, the place does not matter and `count` may exceed the number of
    nodes. A location gives fewer victims than its removal count if its other nodes are protected.

    :param ordered: the result of `order`; `spared` reads the rest of it.
    :param removal_counts: None if no policy planned; an empty plan takes all victims from nodes of
        unknown place.
    :param unknown: the locations of nodes whose place is unknown.
    :param protected: the nodes that stay and are not among `ordered`.
    :raises NoFeasiblePlan: a location holds fewer nodes than are to leave it; the text names it.
    """
    if removal_counts is None:
        rest = iter(ordered)
        return Choice([*islice(rest, count)], rest)
    asked = {UNKNOWN: max(0, count - sum(removal_counts.values())), **removal_counts}
    leaving, spared = _divided(ordered, asked, location_of)
    if sum(map(len, leaving.values())) < sum(asked.values()):
        _check_held(asked, leaving, Counter(map(location_of, protected)))
    unplaced = frozenset(node.id for location in unknown for node in leaving.get(location, ()))
    return Choice([*chain(*leaving.values())], spared, unplaced)


def reason(node: Node, criteria: Criteria, unplaced: Collection[str] = (), place: str = '') -> str:
    """Return why a node has its rank, as one of a few phrases that can be counted.

    :param unplaced: as in `Choice`.
    :param place: the place among whose nodes the criteria chose a victim; empty to omit it.
    """
    group = _group(node)
    if group != _HEALTHY:
        return 'unhealthy' if group == _UNHEALTHY else 'never created'
    if node.id in unplaced:
        return PLACE_UNKNOWN
    return f'{_CRITERION[criteria]} in {place}' if place else _CRITERION[criteria]


def reason_counts(choice: Choice, criteria: Criteria) -> dict[str, int]:
    """Return how many victims have each reason."""
    found = Counter(reason(node, criteria, choice.unplaced) for node in choice.victims)
    return dict(sorted(found.items()))


def _divided(
    ordered: Iterable[Node],
    asked: Mapping[Location, int],
    location_of: Callable[[Node], Location],
) -> tuple[dict[Location, list[Node]], Iterator[Node]]:
    """Return the first nodes of each location, at most as many as asked, and all other nodes.

    The nodes after the last one that leaves are not located, which takes longer than ordering them.
    """
    leaving: dict[Location, list[Node]] = {location: [] for location in sorted(asked)}
    unfilled = {location: leaving[location] for location, count in asked.items() if count > 0}
    spared: list[Node] = []
    rest = iter(ordered)
    for node in rest if unfilled else ():
        location = location_of(node)
        found = unfilled.get(location)
        if found is None:
            spared.append(node)
            continue
        found.append(node)
        if len(found) == asked[location]:
            del unfilled[location]
            if not unfilled:
                break
    return leaving, chain(spared, rest)


def _check_held(
    asked: Mapping[Location, int],
    found: Mapping[Location, Sequence[Node]],
    protected: Counter[Location],
) -> None:
    """Check that each location holds the nodes that are to leave it, protected ones included.

    :raises NoFeasiblePlan: naming the first location that does not.
    """
    for location, nodes in found.items():
        held = len(nodes) + protected[location]
        if asked[location] > held:
            are = 'is' if asked[location] == 1 else 'are'
            raise NoFeasiblePlan(
                f'{counted(asked[location], "node")} {are} to leave {_name(location)}, '
                f'which holds {held}.'
            )


def _name(location: Location) -> str:
    return ' / '.join(map(shortened, location)) if location else NO_PLACE


def _group(node: Node) -> int:
    if node.tainted or node.status in FAILING:
        return _UNHEALTHY
    return _NEVER_CREATED if node.created_at is None else _HEALTHY


def _by_index(nodes: Sequence[Node]) -> Sequence[Node]:
    """Sort by index, then id; the id is left out, which is faster, where no index repeats."""
    indexes = [node.index for node in nodes]
    if all(map(lt, indexes, indexes[1:])):  # Senlin lists nodes in this order
        return nodes
    repeats = len(set(indexes)) < len(indexes)
    return sorted(nodes, key=attrgetter('index', 'id') if repeats else attrgetter('index'))


def _by_criteria(nodes: Sequence[Node], criteria: Criteria, seed: str) -> list[Node]:
    """Sort healthy nodes by a criterion; ties keep their order."""
    if criteria == 'RANDOM':
        return sorted(nodes, key=_random_key(seed))
    time_of = attrgetter(
        'profile_created_at' if criteria == 'OLDEST_PROFILE_FIRST' else 'created_at'
    )
    youngest_first = criteria == 'YOUNGEST_FIRST'
    try:
        return sorted(nodes, key=time_of, reverse=youngest_first)
    except TypeError:  # a time is missing, or some have no time zone
        return sorted(nodes, key=lambda node: _comparable(time_of(node)), reverse=youngest_first)


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
