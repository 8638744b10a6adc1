"""The victims of a deletion: order all nodes, then take as many per place as planned."""

import datetime
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Literal

from placement_worker.contract.model import Node, in_utc
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

    `unplaced`: the ids of the victims that were chosen because their place is unknown.
    `protected`: the nodes that could not be chosen, by id.
    """

    victims: Sequence[Node]
    spared: Sequence[Node]
    unplaced: frozenset[str] = frozenset()
    protected: Mapping[str, Protection] = field(default_factory=dict)


def order(nodes: Iterable[Node], criteria: Criteria, seed: str) -> list[Node]:
    """Return all nodes, the preferred victims first, independent of the order of the request.

    Unhealthy nodes come first, then nodes that were never created, then healthy nodes by criteria.
    Ties are broken by index, then id.

    :param seed: of the random order; the same seed and node ids give the same order.
    """
    groups: tuple[list[Node], list[Node], list[Node]] = ([], [], [])
    for node in sorted(nodes, key=attrgetter('index', 'id')):
        groups[_group(node)].append(node)
    unhealthy, never_created, healthy = groups
    return [*unhealthy, *never_created, *_by_criteria(healthy, criteria, seed)]


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
    ordered: Sequence[Node],
    count: int,
    removal_counts: Mapping[Location, int] | None,
    held: Mapping[Location, Sequence[Node]],
    unknown: Collection[Location] = (UNKNOWN,),
    protected_in: Callable[[Location], int] = lambda _: 0,
) -> Choice:
    """Choose the first `count` nodes, from each location as many as its removal count says.

    If the removal counts add up to less than `count`, the rest comes from nodes of unknown place.
    The victims stand in the order of `_in_rounds`. Without removal counts, the place does not
    matter and `count` may exceed the number of nodes. A location gives fewer victims than its
    removal count if its other nodes are protected.

    :param ordered: the result of `order`, and `held` the same nodes by location, in this order.
    :param removal_counts: None if no policy planned; an empty plan takes all victims from nodes of
        unknown place.
    :param unknown: the locations of nodes whose place is unknown.
    :param protected_in: returns how many nodes of a location stay and are not among `ordered`.
    :raises NoFeasiblePlan: a location holds fewer nodes than are to leave it; the text names it.
    """
    if removal_counts is None:
        return Choice(ordered[:count], ordered[count:])
    asked = {UNKNOWN: max(0, count - sum(removal_counts.values())), **removal_counts}
    leaving = {place: held.get(place, ())[:number] for place, number in sorted(asked.items())}
    for location, nodes in leaving.items():
        if len(nodes) < asked[location]:
            _check_held(location, asked[location], len(nodes) + protected_in(location))
    unplaced = frozenset(node.id for location in unknown for node in leaving.get(location, ()))
    chosen = _in_rounds(leaving, unknown)
    ids = {node.id for node in chosen}
    return Choice(chosen, [node for node in ordered if node.id not in ids], unplaced)


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


def _name(location: Location) -> str:
    return ' / '.join(map(shortened, location)) if location else NO_PLACE


def _group(node: Node) -> int:
    if node.tainted or node.status in FAILING:
        return _UNHEALTHY
    return _NEVER_CREATED if node.created_at is None else _HEALTHY


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
