"""How many nodes each place gains or loses; zones and regions share these rules.

Growing and shrinking ask the same question of `apportion`, with different bounds: a place keeps at least
what it has, or at most. That makes plans monotone: one node more never moves another one.

:source: seeds 000, 001 and 004; spec.md 3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.apportionment import apportion

NO_CAP = -1
INFEASIBLE = 'There is no feasible plan to handle all nodes.'


@dataclass(frozen=True, slots=True)
class Place:
    """A zone or region that a policy lists.

    `known`: the cloud has it. `available`: nodes can be created there now; it implies `known`.
    """

    name: str
    weight: int = 100
    cap: int = NO_CAP
    known: bool = True
    available: bool = True


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
    """Rows in the order of the spec, strays last by name, and how many nodes of unknown place go."""

    rows: tuple[Row, ...]
    unplaced: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Place -> number of nodes to create or delete there, by name, without zeros."""
        return {row.name: row.planned for row in sorted(self.rows, key=lambda row: row.name) if row.planned}


def grow(places: Sequence[Place], current: Mapping[str, int], count: int) -> Plan:
    """Say where `count` new nodes go.

    Nodes in other places than the available ones do not count towards the size that is shared out.

    :param places: in the order of the spec, which breaks ties.
    :param current: place -> number of nodes there; places that are not listed may occur.
    :raises NoFeasiblePlan: no place is available, or the caps leave too little room.
    """
    known = [place for place in places if place.known]
    held = [current.get(place.name, 0) for place in known]
    room = [
        now if not place.available else now + count if place.cap < 0 else max(now, min(place.cap, now + count))
        for place, now in zip(known, held, strict=True)
    ]
    if sum(room) < sum(held) + count:
        raise NoFeasiblePlan(INFEASIBLE, {'asked': count, 'possible': sum(room) - sum(held)})
    final = apportion(sum(held) + count, [place.weight for place in known], held, room)
    rows = _rows(known, held, final, usable=[place.available for place in known])
    strays = _strays(places, current)
    return Plan(rows + _stray_rows(places, strays, strays))


def shrink(places: Sequence[Place], current: Mapping[str, int], unplaced: int, count: int) -> Plan:
    """Say from where `count` nodes leave.

    First go those of unknown place, then strays, then what exceeds a cap, then the dearest units.

    :param places: in the order of the spec, which breaks ties.
    :param current: place -> number of nodes there; places that are not listed may occur.
    :param unplaced: how many nodes stand in no known place.
    :raises NoFeasiblePlan: there are fewer nodes than are to leave.
    """
    known = [place for place in places if place.known]
    weights = [place.weight for place in known]
    held = [current.get(place.name, 0) for place in known]
    strays = _strays(places, current)
    there = unplaced + sum(strays.values()) + sum(held)
    if count > there:
        raise NoFeasiblePlan(INFEASIBLE, {'asked': count, 'possible': there})

    gone = min(count, unplaced)
    from_strays = min(count - gone, sum(strays.values()))
    stray_final = _level(strays, from_strays)
    to_go = count - gone - from_strays

    within_caps = [now if place.cap < 0 else min(now, place.cap) for place, now in zip(known, held, strict=True)]
    over_caps = min(to_go, sum(held) - sum(within_caps))
    final = apportion(sum(held) - over_caps, weights, within_caps, held)
    final = apportion(sum(held) - to_go, weights, [0] * len(final), final)

    rows = _rows(known, held, final, usable=[True] * len(known))
    return Plan(rows + _stray_rows(places, strays, stray_final), gone)


def _strays(places: Sequence[Place], current: Mapping[str, int]) -> dict[str, int]:
    """Nodes in places that are not listed, or that the cloud does not know, by name."""
    known = {place.name for place in places if place.known}
    names = current.keys() | {place.name for place in places}
    return {name: current.get(name, 0) for name in sorted(names - known)}


def _level(strays: Mapping[str, int], count: int) -> dict[str, int]:
    """Take `count` away, each from the fullest place; of equally full ones from the first by name."""
    names = sorted(strays, reverse=True)  # the last by name keeps its nodes longest
    held = [strays[name] for name in names]
    left = apportion(sum(held) - count, [1] * len(names), [0] * len(names), held)
    return dict(zip(names, left, strict=True))


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
        return 'unavailable'
    if place.cap < 0 or final < place.cap:
        return ''
    return 'at its cap' if final == place.cap else 'over its cap'


def _stray_rows(places: Sequence[Place], before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Row, ...]:
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
