"""Which nodes die: an order of all nodes, and the first of it that the quotas of places allow.

:source: seed 002; spec.md 4.
"""

import datetime
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

from placement_worker.contract.model import Node, in_utc
from placement_worker.errors import NoFeasiblePlan

Criteria = Literal['RANDOM', 'OLDEST_FIRST', 'OLDEST_PROFILE_FIRST', 'YOUNGEST_FIRST']
Location = tuple[str, ...]
"""A zone, a region, or both: (region, zone); () is no known place."""
NOWHERE: Location = ()
PLACE_UNKNOWN = 'place unknown'
"""Why a sound node leaves first of its group where a placement policy planned."""

_UNHEALTHY, _NEVER_CREATED, _SOUND = range(3)
_FAILING = frozenset({'ERROR', 'WARNING'})
_OLDEST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_CRITERION = {
    'RANDOM': 'random',
    'OLDEST_FIRST': 'oldest',
    'OLDEST_PROFILE_FIRST': 'oldest profile',
    'YOUNGEST_FIRST': 'youngest',
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The victims in the order of the reply, the nodes that are spared in the order they would have
    followed.

    `unplaced`: the ids of victims that a plan takes because their place is unknown.
    """

    victims: Sequence[Node]
    spared: Sequence[Node]
    unplaced: frozenset[str] = frozenset()


def order(nodes: Sequence[Node], criteria: Criteria, seed: str) -> list[Node]:
    """All nodes, the first to die first, whatever their order in the request.

    Unhealthy ones, then those that were never created, then the sound ones by criteria; equals by
    index, then id.

    :param seed: of the random order: the same seed and node ids give the same order.
    """
    groups: tuple[list[Node], ...] = ([], [], [])
    for node in _by_index(nodes):
        groups[_group(node)].append(node)
    return [
        *groups[_UNHEALTHY],
        *groups[_NEVER_CREATED],
        *_by_criteria(groups[_SOUND], criteria, seed),
    ]


def early(nodes: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """Return the nodes that leave before the sound ones: the unhealthy ones, then those never
    created.
    """
    groups: tuple[list[Node], list[Node]] = ([], [])
    for node in nodes:
        if node.created_at is None or node.tainted or node.status in _FAILING:
            groups[_group(node)].append(node)
    return groups


def choose(
    ordered: Sequence[Node],
    count: int,
    quotas: Mapping[Location, int] | None,
    place_of: Callable[[Node], Location],
    unknown: Collection[Location] = (NOWHERE,),
) -> Choice:
    """Take the first `count` nodes, so many from each place as its quota says.

    What the quotas leave of `count` comes from nodes in no known place, which stand first; the
    others follow place by place, in the order of names. If nobody planned, places do not matter,
    and more than there are means all.

    :param ordered: as `order` gives it.
    :param quotas: None if nobody planned; an empty plan takes all from no known place.
    :param unknown: the locations of nodes whose place is unknown.
    :raises NoFeasiblePlan: a place holds fewer nodes than its quota; the text names place, quota
        and holding.
    """
    if quotas is None:
        return Choice(ordered[:count], ordered[count:])
    asked = {NOWHERE: max(0, count - sum(quotas.values())), **quotas}
    leaving: dict[Location, list[Node]] = {place: [] for place in sorted(asked)}
    spared: list[Node] = []
    rest = iter(ordered)
    for _ in range(sum(asked.values())):
        for node in rest:
            place = place_of(node)
            if len(leaving.get(place, ())) < asked.get(place, 0):
                leaving[place].append(node)
                break
            spared.append(node)
        else:
            raise _too_few(asked, leaving)
    unplaced = frozenset(node.id for place in unknown for node in leaving.get(place, ()))
    return Choice([*chain(*leaving.values())], [*spared, *rest], unplaced)


def _too_few(
    asked: Mapping[Location, int], held: Mapping[Location, Sequence[Node]]
) -> NoFeasiblePlan:
    """Name the first place that holds fewer nodes than are to leave it."""
    place = next(place for place, nodes in held.items() if asked[place] > len(nodes))
    return NoFeasiblePlan(
        f'{asked[place]} nodes are to leave {_named(place)}, which holds {len(held[place])}.'
    )


def _by_index(nodes: Sequence[Node]) -> list[Node]:
    """By index, then id. Where no index repeats, which is usual, nodes need no tuples to be
    compared by.
    """
    repeats = len({node.index for node in nodes}) < len(nodes)
    return sorted(nodes, key=attrgetter('index', 'id') if repeats else attrgetter('index'))


def reason(node: Node, criteria: Criteria, unplaced: Collection[str] = ()) -> str:
    """Why the node stands where it stands: one of few words, to be counted.

    :param unplaced: as in `Choice`.
    """
    sound = PLACE_UNKNOWN if node.id in unplaced else _CRITERION[criteria]
    return ('unhealthy', 'never created', sound)[_group(node)]


def reasons(choice: Choice, criteria: Criteria) -> dict[str, int]:
    """How many victims have each reason."""
    return dict(
        sorted(Counter(reason(node, criteria, choice.unplaced) for node in choice.victims).items())
    )


def _named(place: Location) -> str:
    return ' / '.join(place) if place else 'no known place'


def _group(node: Node) -> int:
    if node.tainted or node.status in _FAILING:
        return _UNHEALTHY
    return _NEVER_CREATED if node.created_at is None else _SOUND


def _in_order(moment: datetime.datetime | None) -> datetime.datetime:
    """A time that compares with others; a missing one is the oldest."""
    return _OLDEST if moment is None else in_utc(moment)


def _by_criteria(nodes: Sequence[Node], criteria: Criteria, seed: str) -> list[Node]:
    """Sound nodes in the order of a criterion; equals stay as they are."""
    if criteria == 'RANDOM':
        return sorted(nodes, key=_lots(seed))
    of_profile, youngest_first = criteria == 'OLDEST_PROFILE_FIRST', criteria == 'YOUNGEST_FIRST'
    try:
        # Ages, for new objects lie side by side in memory: 100,000 of them take two thirds of the
        # time of their dates.
        age: Callable[[Node], Any] = _age_of_profile if of_profile else _age
        return sorted(nodes, key=age, reverse=youngest_first)
    except TypeError:  # some have no time, or one without a time zone
        time_of = attrgetter('profile_created_at' if of_profile else 'created_at')
        return sorted(nodes, key=lambda node: _in_order(time_of(node)), reverse=youngest_first)


def _age(node: Node) -> datetime.timedelta:
    return node.created_at - _OLDEST  # type: ignore[operator]


def _age_of_profile(node: Node) -> datetime.timedelta:
    return node.profile_created_at - _OLDEST  # type: ignore[operator]


def _lots(seed: str) -> Callable[[Node], bytes]:
    """A lot for each node that depends on nothing but the seed and its id, on every machine and
    release.
    """
    start = hashlib.blake2b(seed.encode() + b'\0', digest_size=8)

    def lot(node: Node) -> bytes:
        hashed = start.copy()
        hashed.update(node.id.encode())
        return hashed.digest()

    return lot
