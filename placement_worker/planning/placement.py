"""The number of nodes that each place gains or loses; a place is a zone or a region.

Growing and shrinking both call `apportion`, with different bounds: a place keeps at least, or at
most, the nodes that it has. Plans are therefore monotone: a plan for one node more includes every
change of the plan for one node less.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from placement_worker.contract.action_data import CREATION
from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.apportionment import apportion
from placement_worker.planning.infeasible import infeasible, short_of_capacity, too_many
from placement_worker.planning.places import (
    NO_CAP,
    NO_PLACE,
    NO_RANKS,
    NOWHERE,
    Counts,
    Held,
    Located,
    Place,
    Ranks,
    first_rank,
    total,
)
from placement_worker.planning.plan_rows import Plan, listed_rows, unlisted_rows, with_protected
from placement_worker.planning.sizing import Size


def plan_for(size: Size, places: Sequence[Place], held: Held[str | None]) -> Plan:
    """Plan how many nodes each place gains or loses.

    Of equal places, growth goes where the next victim stands, and shrinking takes it. An update
    that grows and shrinks one by one would otherwise fill one place, delete the new node there
    again, and never end.

    :param places: in the order of the spec, which breaks the other ties.
    :raises NoFeasiblePlan: more nodes than can be placed or removed.
    """
    if size.kind == CREATION:
        return grow(places, total([*held.groups, held.staying]), size.count, held.ranks)
    return shrink(places, held.groups, size.count, held.staying, held.ranks)


def grow(places: Sequence[Place], current: Located, count: int, ranks: Ranks = NO_RANKS) -> Plan:
    """Plan where to create `count` nodes.

    Nodes outside the available places do not count towards the size that is divided.

    :param places: in the order of the spec, which breaks ties.
    :param current: place -> number of nodes there; may contain unlisted places.
    :param ranks: break ties before the order of the spec does.
    :raises NoFeasiblePlan: no place is available, or the caps leave too little room.
    """
    known = [place for place in places if place.known]
    held = [current.get(place.name, 0) for place in known]
    ceilings = [_ceiling(place, now, count) for place, now in zip(known, held, strict=True)]
    if sum(ceilings) < sum(held) + count:
        raise _no_room(places, current, dict(zip(known, ceilings, strict=True)), count)
    unlisted, usable = _unlisted(places, current), [place.available for place in known]
    first = [first_rank(ranks, place.name) for place in known]
    weights = [place.weight for place in known]
    final = apportion(sum(held) + count, weights, held, ceilings, lambda i, _: first[i])
    rows = listed_rows(known, held, final, usable)
    return Plan(rows + unlisted_rows(places, unlisted, unlisted))


def shrink(
    places: Sequence[Place],
    groups: Sequence[Located],
    count: int,
    staying: Located = NOWHERE,
    ranks: Ranks = NO_RANKS,
) -> Plan:
    """Plan from where to delete `count` nodes; a group follows when the ones before it are empty.

    :param places: in the order of the spec, which breaks ties.
    :param groups: place -> number of nodes there, for each group; may contain unlisted places.
    :param staying: place -> number of protected nodes there. They count as held, but stay, even if
        fewer than `count` nodes can leave: the plan then removes all others.
    :param ranks: those of the last group, whose next nodes break ties before the order of the spec.
    :raises NoFeasiblePlan: there are fewer than `count` nodes.
    """
    before = total([*groups, staying])
    _check_held(before, groups, count)
    known = [place for place in places if place.known]
    after = _after_removal(known, before, groups, count, ranks)
    held, final = [before[one.name] for one in known], [after[one.name] for one in known]
    unlisted = _unlisted(places, before)
    unlisted_after = {name: after[name] for name in unlisted}
    rows = listed_rows(known, held, final, [not place.evacuated for place in known])
    rows += unlisted_rows(places, unlisted, unlisted_after)
    return Plan(with_protected(rows, staying) if staying else rows, before[None] - after[None])


def _ceiling(place: Place, held: int, count: int) -> int:
    if not place.available:
        return held
    room = count if place.shortage is None else min(place.shortage.room, count)
    if place.cap < 0:
        return held + room
    return max(held, min(place.cap, held + room))


def _no_room(
    places: Sequence[Place], current: Located, ceilings: Mapping[Place, int], count: int
) -> NoFeasiblePlan:
    """Return the error of a creation for which there is too little room.

    Shortages are the cause if there would be enough room without them.
    """
    room = {place.name: top - current.get(place.name, 0) for place, top in ceilings.items()}
    rows = [
        (one.name, held := current.get(one.name, 0), one.cap, _obstacle(one, held))
        for one in places
    ]
    shortages = [place.shortage for place in ceilings if place.available and place.shortage]
    held = sum(current.get(place.name, 0) for place in ceilings)
    without = (structs.replace(place, shortage=None) for place in ceilings)
    most = sum(_ceiling(place, current.get(place.name, 0), count) for place in without)
    if most < held + count:
        return infeasible(count, room, rows)
    return short_of_capacity(count, room, rows, shortages)


def _obstacle(place: Place, held: int) -> str:
    """Return why a place takes too few nodes; a cordon only if lifting it would help."""
    if place.cordons and not place.note and not place.is_opened_without_cordons(held):
        return str(place.shortage or '')
    return place.obstacle


def _check_held(before: Counts, groups: Sequence[Located], count: int) -> None:
    """Check that there are `count` nodes.

    :param before: all nodes by place, protected ones included.
    :raises NoFeasiblePlan: there are fewer.
    """
    if count <= before.total():
        return
    room = {name or NO_PLACE: number for name, number in total(groups).items()}
    there = {name or NO_PLACE: number for name, number in sorted(before.items(), key=str)}
    rows = [(*one, NO_CAP, '') for one in there.items() if one[1]]
    raise too_many(count, before.total(), room, rows)


def _after_removal(
    known: Sequence[Place], before: Counts, groups: Sequence[Located], count: int, ranks: Ranks
) -> Counts:
    """Return the nodes by place after `count` nodes have left.

    Each group leaves in stages: nodes of unknown place, nodes of unlisted and evacuated places,
    nodes above a cap, all others. In the last two stages the next node leaves the place where its
    unit costs most: (2x-1)/w for the last of the x nodes there, of any group. A unit costs more
    than the units below it, so removing n units one by one leaves the cheapest units that may stay.
    `apportion` finds these for any n, with the nodes that must stay as floors. Only the stage in
    which the count runs out leaves a choice, so one apportionment is enough for a plan.
    """
    after = before.copy()
    keeping = [place for place in known if not place.evacuated]
    for group in filter(None, groups):
        movable = Counter(group)
        is_ranked = group is groups[-1]
        for units in filter(None, _stages(keeping, movable, after)):
            if not count:
                return after
            leaving = [_next_ranks(unit, ranks, movable, is_ranked) for unit in units]
            count -= _remove(units, count, movable, after, leaving)
    return after


def _next_ranks(units: '_Units', ranks: Ranks, movable: Counts, is_ranked: bool) -> Sequence[int]:
    """Return the rank of the next healthy victim of a place before each of its units leaves.

    :param is_ranked: whether the units are healthy, so that the next victim is the unit itself.
    """
    healthy = ranks.get(units.place, ())
    if is_ranked:
        return healthy[len(healthy) - movable[units.place] :]
    return [*healthy[:1]] * units.number


class _Units(NamedTuple):
    """Nodes of one group in one place that may leave in the same stage."""

    place: str | None
    weight: int
    number: int


def _stages(places: Sequence[Place], group: Counts, after: Counts) -> Iterator[list[_Units]]:
    """Yield the units of a group that may leave, stage by stage.

    :param places: the places that have a share of the nodes; all others count as unlisted.
    :param group: the remaining nodes of the group; each stage sees the effects of earlier stages.
    """
    if None in group:
        yield [_Units(None, 1, group[None])]
    listed = {place.name for place in places}
    unlisted = {name for name in group if name is not None and name not in listed}
    # The fullest place gives first. Of equally full ones the last by name keeps its nodes longest.
    yield [_Units(name, 1, group[name]) for name in sorted(unlisted, reverse=True)]
    yield [
        _Units(place.name, place.weight, min(group[place.name], after[place.name] - place.cap))
        for place in places
        if 0 <= place.cap < after[place.name]
    ]
    yield [
        _Units(place.name, place.weight, group[place.name]) for place in places if group[place.name]
    ]


def _remove(
    units: Sequence[_Units],
    count: int,
    group: Counts,
    after: Counts,
    ranks: Sequence[Sequence[int]],
) -> int:
    """Remove up to `count` units from `group` and `after`, and return their number.

    Of units of equal cost, the one of the lower weight leaves first, then the one whose place has
    the next victim, then the later one.

    :param ranks: for each place, those of `_next_ranks`.
    """
    removed = min(count, sum(unit.number for unit in units))
    if not removed:
        return 0
    held = [after[unit.place] for unit in units]
    floors = [now - unit.number for now, unit in zip(held, units, strict=True)]

    def precedence(i: int, count: int) -> float:
        gone = held[i] - count - 1
        return -ranks[i][gone] if gone < len(ranks[i]) else -math.inf

    weights = [unit.weight for unit in units]
    final = apportion(sum(held) - removed, weights, floors, held, precedence)
    for unit, before, now in zip(units, held, final, strict=True):
        group[unit.place] -= before - now
        after[unit.place] = now
    return removed


def _unlisted(places: Sequence[Place], current: Located) -> dict[str, int]:
    known = {place.name for place in places if place.known}
    names = {name for name in current if name is not None} | {place.name for place in places}
    return {name: current.get(name, 0) for name in sorted(names - known)}
