"""How many nodes each place gains or loses; zones and regions share these rules.

Growing and shrinking ask the same question of `apportion`, with different bounds: a place keeps at
least what it has, or at most. That makes plans monotone: one node more never moves another one.

:source: seeds 000, 001 and 004; spec.md 3.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.apportionment import apportion

NO_CAP = -1
INFEASIBLE = 'There is no feasible plan to handle all nodes.'
Located = Mapping[str | None, int]
"""Place -> number of nodes there; None stands for nodes whose place is unknown."""
Counts = Counter[str | None]
"""The same while it changes; a place that does not occur has none."""


@dataclass(frozen=True, slots=True)
class Place:
    """A zone or region that a policy lists.

    `known`: the cloud has it. `available`: nodes can be created there now; it implies `known`.
    `note`: why they cannot, for the row of the plan.
    """

    name: str
    weight: int = 100
    cap: int = NO_CAP
    known: bool = True
    available: bool = True
    note: str = 'unavailable'


@dataclass(frozen=True, slots=True)
class Row:
    """What a plan says about one place; `ideal` is its share of the size afterwards."""

    name: str
    weight: int
    cap: int
    usable: bool
    current: int
    ideal: Fraction
    planned: int
    final: int
    note: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows in the order of the spec, strays last by name, and how many nodes of unknown place
    go.
    """

    rows: tuple[Row, ...]
    unplaced: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Place -> number of nodes to create or delete there, by name, without zeros."""
        return {
            row.name: row.planned
            for row in sorted(self.rows, key=lambda row: row.name)
            if row.planned
        }


def grow(places: Sequence[Place], current: Located, count: int) -> Plan:
    """Say where `count` new nodes go.

    Nodes in other places than the available ones do not count towards the size that is shared out.

    :param places: in the order of the spec, which breaks ties.
    :param current: place -> number of nodes there; places that are not listed may occur.
    :raises NoFeasiblePlan: no place is available, or the caps leave too little room.
    """
    known = [place for place in places if place.known]
    held = [current.get(place.name, 0) for place in known]
    room = [
        now
        if not place.available
        else now + count
        if place.cap < 0
        else max(now, min(place.cap, now + count))
        for place, now in zip(known, held, strict=True)
    ]
    if sum(room) < sum(held) + count:
        raise NoFeasiblePlan(INFEASIBLE, {'asked': count, 'possible': sum(room) - sum(held)})
    final = apportion(sum(held) + count, [place.weight for place in known], held, room)
    rows = _rows(known, held, final, usable=[place.available for place in known])
    strays = _strays(places, current)
    return Plan(rows + _stray_rows(places, strays, strays))


def shrink(places: Sequence[Place], groups: Sequence[Located], count: int) -> Plan:
    """Say from where `count` nodes leave; a group leaves only when the one before it is used up.

    Within a group, nodes of unknown place leave first, then those of unlisted places, then what
    exceeds a cap, then the others. In the last two stages the next node leaves the place where its
    unit costs most: (2x-1)/w for the last of x nodes, of whatever group. A unit costs more than the
    units below it, so taking n units one by one leaves the cheapest ones that may be left. These
    are what `apportion` finds, with the nodes that must stay as floors, whatever n is. Only the
    stage in which the count runs out leaves a choice, so one apportionment makes a plan. It also
    follows that a plan for one node more takes every node that this one takes.

    :param places: in the order of the spec, which breaks ties.
    :param groups: the nodes of each group by place; places that are not listed may occur.
    :raises NoFeasiblePlan: there are fewer nodes than are to leave.
    """
    known = [place for place in places if place.known]
    before = total(groups)
    if count > before.total():
        raise NoFeasiblePlan(INFEASIBLE, {'asked': count, 'possible': before.total()})
    left = before.copy()
    for group in groups:
        movable = Counter(group)
        for units in _stages(known, movable, left):
            count -= _take(units, count, movable, left)

    held, final = ([counts[place.name] for place in known] for counts in (before, left))
    rows = _rows(known, held, final, usable=[True] * len(known))
    strays = _strays(places, before)
    gone = before[None] - left[None]
    return Plan(rows + _stray_rows(places, strays, {name: left[name] for name in strays}), gone)


class _Units(NamedTuple):
    """Nodes of one group in one place that may leave in the same stage."""

    place: str | None
    weight: int
    number: int


def _stages(known: Sequence[Place], group: Counts, left: Counts) -> Iterator[list[_Units]]:
    """Yield the units of a group that may leave, stage by stage.

    :param group: the remaining part of the group; each stage sees the effects of the stages before
        it.
    """
    yield [_Units(None, 1, group[None])]
    listed = {place.name for place in known}
    unlisted = {name for name in group if name is not None and name not in listed}
    # The fullest place gives first. Of equally full ones the last by name keeps its nodes longest.
    yield [_Units(name, 1, group[name]) for name in sorted(unlisted, reverse=True)]
    yield [
        _Units(place.name, place.weight, min(group[place.name], left[place.name] - place.cap))
        for place in known
        if 0 <= place.cap < left[place.name]
    ]
    yield [_Units(place.name, place.weight, group[place.name]) for place in known]


def _take(units: Sequence[_Units], count: int, group: Counts, left: Counts) -> int:
    """Remove up to `count` units from `group` and `left`, and return their number.

    Of equally dear units, the one of the lower weight goes first, then the one that stands later.
    """
    taken = min(count, sum(one.number for one in units))
    if not taken:
        return 0
    held = [left[one.place] for one in units]
    floors = [now - one.number for now, one in zip(held, units, strict=True)]
    final = apportion(sum(held) - taken, [one.weight for one in units], floors, held)
    for one, before, now in zip(units, held, final, strict=True):
        group[one.place] -= before - now
        left[one.place] = now
    return taken


def total(groups: Sequence[Located]) -> Counts:
    """The nodes of all groups by place."""
    found: Counts = Counter()
    for group in groups:
        found.update(group)
    return found


def _strays(places: Sequence[Place], current: Located) -> dict[str, int]:
    """Nodes in places that are not listed, or that the cloud does not know, by name."""
    known = {place.name for place in places if place.known}
    names = {name for name in current if name is not None} | {place.name for place in places}
    return {name: current.get(name, 0) for name in sorted(names - known)}


def _rows(
    places: Sequence[Place], held: Sequence[int], final: Sequence[int], usable: Sequence[bool]
) -> tuple[Row, ...]:
    size = sum(count for count, counts in zip(final, usable, strict=True) if counts)
    weight = sum(place.weight for place, counts in zip(places, usable, strict=True) if counts)
    return tuple(
        Row(
            name=place.name,
            weight=place.weight,
            cap=place.cap,
            usable=counts,
            current=before,
            ideal=Fraction(size * place.weight, weight) if counts else Fraction(0),
            planned=abs(after - before),
            final=after,
            note=_note(place, after),
        )
        for place, before, after, counts in zip(places, held, final, usable, strict=True)
    )


def _note(place: Place, final: int) -> str:
    if not place.available:
        return place.note
    if place.cap < 0 or final < place.cap:
        return ''
    return 'at its cap' if final == place.cap else 'over its cap'


def _stray_rows(
    places: Sequence[Place], before: Mapping[str, int], after: Mapping[str, int]
) -> tuple[Row, ...]:
    listed = {place.name: place for place in places}
    return tuple(
        Row(
            name=name,
            weight=listed[name].weight if name in listed else 0,
            cap=listed[name].cap if name in listed else NO_CAP,
            usable=False,
            current=before[name],
            ideal=Fraction(0),
            planned=before[name] - after[name],
            final=after[name],
            note='unknown to the cloud' if name in listed else 'not listed',
        )
        for name in sorted(before)
    )
