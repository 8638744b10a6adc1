"""The number of nodes that each place gains or loses; a place is a zone or a region.

Growing and shrinking both call `apportion`, with different bounds: a place keeps at least, or at
most, the nodes that it has. Plans are therefore monotone: a plan for one node more includes every
change of the plan for one node less. If no plan exists, the error has the numbers that explain it,
and `alternatives` names the places to try if a planned node cannot be created.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct, structs

from placement_worker.contract.action_data import CREATION
from placement_worker.errors import NoFeasiblePlan
from placement_worker.formats.text import counted, day_or_time, escaped, listed, shortened
from placement_worker.planning.apportionment import apportion
from placement_worker.planning.places import (
    NO_CAP,
    NO_PLACE,
    NOWHERE,
    UNKNOWN,
    Counts,
    Held,
    NodeCounts,
    Place,
    Ranks,
    first_rank,
)
from placement_worker.planning.shortage import Shortage, last_failed
from placement_worker.planning.sizing import Size

NOT_LISTED = 'not listed'
NO_KNOWN_PLACE = 'no known place'
_INFEASIBLE = 'There is no feasible plan to handle all nodes.'
_MOST_ALTERNATIVES = 10  # of a place; bounds the size of the reply
_QUOTED = 200  # characters of an error of Nova that the reason of a check quotes
# A place in an error: its name, its nodes, its cap, and why nodes cannot be created there.
PlaceNumbers = tuple[str, int, int, str]


class Row(Struct, frozen=True, kw_only=True):
    """One place of a plan; `ideal` is the share of the place in the size afterwards."""

    name: str
    weight: int = 0
    cap: int = NO_CAP
    usable: bool = False
    current: int
    ideal: float = 0.0
    planned: int
    final: int
    note: str


class Distribution(Struct, frozen=True):
    """The known places in the order of the spec, then unknown and unlisted ones by name.

    `unplaced`: the number of nodes of unknown place to delete.
    """

    rows: tuple[Row, ...]
    unplaced: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Place -> number of nodes to create or delete there, without zeros."""
        return {
            row.name: row.planned
            for row in sorted(self.rows, key=lambda row: row.name)
            if row.planned
        }


def plan_for(size: Size, places: Sequence[Place], held: Held[str | None]) -> Distribution:
    """Plan how many nodes each place gains or loses.

    Of equal places, growth goes where the next victim stands, and shrinking takes it. An update
    that grows and shrinks one by one would otherwise fill one place, delete the new node there
    again, and never end.

    :param places: in the order of the spec, which breaks the other ties.
    :raises NoFeasiblePlan: more nodes than can be placed or removed.
    """
    return (_grow if size.kind == CREATION else _shrink)(places, held, size.count)


def _grow(places: Sequence[Place], held: Held[str | None], count: int) -> Distribution:
    """A known place that is not available keeps its nodes; the available ones divide the rest."""
    before = held.total
    known = [place for place in places if place.known]
    floors = [before[place.name] for place in known]
    ceilings = [_ceiling(place, now, count) for place, now in zip(known, floors, strict=True)]
    if sum(ceilings) < sum(floors) + count:
        raise _no_room(places, before, dict(zip(known, ceilings, strict=True)), count)
    first = [first_rank(held.ranks, place.name) for place in known]
    weights = [place.weight for place in known]
    final = apportion(sum(floors) + count, weights, floors, ceilings, lambda i, _: first[i])
    after = before.copy()
    for place, number in zip(known, final, strict=True):
        after[place.name] = number
    with_share = {place.name for place in known if place.available}
    return Distribution(_rows(places, before, after, with_share))


def _shrink(places: Sequence[Place], held: Held[str | None], count: int) -> Distribution:
    """Protected nodes stay, even if fewer than `count` nodes can leave."""
    before = held.total
    if before.total() < count:
        raise _too_few(before, held.staying, count)
    known = [place for place in places if place.known]
    after = _after_removal(known, before, held, count)
    with_share = {place.name for place in known if not place.evacuated}
    rows = _rows(places, before, after, with_share, held.staying)
    return Distribution(rows, before[None] - after[None])


def alternatives(plan: Distribution, places: Sequence[Place], ranks: Ranks) -> dict[str, list[str]]:
    """Return the planned places by name, each with the other places in the order of preference.

    The first alternative is the place to which the planner would give the node if the planned place
    took one less, the second one is next best, and so on. An alternative has room for all nodes of
    the plan, because each of them may fail. Places that are short of capacity are no alternatives.

    :param plan: that of a creation.
    :param places: the listed places, in the order of the spec, which breaks ties after the ranks.
    """
    rows = {row.name: row for row in plan.rows}
    count = sum(plan.counts.values())
    with_room = [place for place in places if _has_room(place, rows[place.name], count)]
    best_first = sorted(
        with_room,
        key=lambda place: (
            Fraction(2 * rows[place.name].final + 1, place.weight),  # of the next node: `apportion`
            -place.weight,
            first_rank(ranks, place.name),
        ),
    )
    others = {
        name: [place.name for place in best_first if place.name != name][:_MOST_ALTERNATIVES]
        for name in plan.counts
    }
    return {name: names for name, names in others.items() if names}


def infeasible(
    requested: int,
    room: Mapping[str, int],
    places: Sequence[PlaceNumbers],
    reason: str = _INFEASIBLE,
    warnings: Sequence[str] = (),
) -> NoFeasiblePlan:
    possible = sum(room.values())
    details = {
        'asked': requested,
        'possible': possible,
        'missing': requested - possible,
        'places': [
            {
                'name': name,
                'current': current,
                'cap': cap,
                'possible': room.get(name, 0),
                'note': note,
            }
            for name, current, cap, note in places
        ],
    }
    return NoFeasiblePlan(reason, details, None, warnings)


def note_of(place: Place, nodes: int) -> str:
    if not place.known:
        return UNKNOWN
    cap = ''
    if 0 <= place.cap <= nodes:
        cap = 'at its cap' if nodes == place.cap else 'over its cap'
    closed = (place.note, place.cordon_note)
    notes = closed if any(closed) else (str(place.shortage or ''), cap)
    return ', '.join(filter(None, notes))


def _ceiling(place: Place, present: int, count: int) -> int:
    if not place.available:
        return present
    room = count if place.shortage is None else min(place.shortage.room, count)
    if place.cap < 0:
        return present + room
    return max(present, min(place.cap, present + room))


def _no_room(
    places: Sequence[Place], before: Counts, ceilings: Mapping[Place, int], count: int
) -> NoFeasiblePlan:
    """Shortages are the cause if there would be enough room without them."""
    room = {place.name: ceiling - before[place.name] for place, ceiling in ceilings.items()}
    rows = [
        (place.name, before[place.name], place.cap, _actionable_obstacle(place, before))
        for place in places
    ]
    without_shortages = sum(
        _ceiling(structs.replace(place, shortage=None), before[place.name], count)
        for place in ceilings
    )
    if without_shortages < sum(before[place.name] for place in ceilings) + count:
        return infeasible(count, room, rows)
    shortages = [place.shortage for place in ceilings if place.available and place.shortage]
    return infeasible(count, room, rows, _short_of_capacity(count, room, rows, shortages))


def _actionable_obstacle(place: Place, current: Counts) -> str:
    """Return why a place takes too few nodes; a cordon only if lifting it would help."""
    lifting_helps = place.would_open_without_cordons(current[place.name])
    if place.cordons and not place.note and not lifting_helps:
        return str(place.shortage or '')
    return place.obstacle


def _short_of_capacity(
    requested: int,
    room: Mapping[str, int],
    places: Sequence[PlaceNumbers],
    shortages: Sequence[Shortage],
) -> str:
    """Quote the latest failure, since some errors of Nova have other causes.

    A bad image makes the build fail on each host, and Nova reports "Exceeded maximum number of
    retries".
    """
    possible = sum(room.values())
    first = f'Only {possible} of {counted(requested, "node")}' if possible else 'No node'
    causes = [f'{escaped(shortened(name))} ({note})' for name, _, _, note in places if note]
    later = [shortage.until for shortage in shortages if not shortage.room]
    probe = f'; the next probe is possible at {day_or_time(min(later))}' if later else ''
    failed = last_failed(shortage.failed for shortage in shortages if shortage.failed)
    cause = escaped(shortened(failed.status_reason or '', _QUOTED)) if failed else ''
    quote = f'; the latest failure was "{cause}"' if cause else ''
    return f'{first} can be created: {listed(causes)}{quote}{probe}'


def _too_few(before: Counts, staying: NodeCounts, count: int) -> NoFeasiblePlan:
    room = {name or NO_PLACE: number - staying.get(name, 0) for name, number in before.items()}
    places = [
        (name or NO_PLACE, number, NO_CAP, '')
        for name, number in sorted(before.items(), key=str)
        if number
    ]
    warning = (
        f'The action asks to remove {counted(count, "node")}, but the placement policy finds '
        f'{before.total()}'
    )
    return infeasible(count, room, places, warnings=[warning])


class _Leaving(NamedTuple):
    """The most nodes of a group that may leave a place in one stage."""

    place: str | None
    weight: int
    most: int


def _after_removal(
    known: Sequence[Place], before: Counts, held: Held[str | None], count: int
) -> Counts:
    """Return the nodes by place after `count` nodes have left, group by group.

    Each group leaves in stages: nodes of unknown place, nodes of unlisted and evacuated places,
    nodes above a cap, all others. In every stage the next node leaves the place where its last node
    costs most: (2x-1)/w for the last of the x nodes there, of any group; w is 1 in the first two
    stages. It costs more than the nodes below it, so removing n nodes one by one leaves the
    cheapest that may stay. `apportion` finds these for any n, with the nodes that must stay as
    floors; only the stage in which the count runs out leaves it a choice.
    """
    after = before.copy()
    keeping = [place for place in known if not place.evacuated]
    for i, group in enumerate(held.groups, 1):
        movable = Counter(group)
        for stage in filter(None, _stages(keeping, movable, after)):
            ranks = [
                _next_ranks(leaving, held.ranks, movable, i == len(held.groups))
                for leaving in stage
            ]
            count -= _remove(stage, count, movable, after, ranks)
    return after


def _next_ranks(
    leaving: _Leaving, ranks: Ranks, movable: Counts, is_healthy: bool
) -> Sequence[int]:
    """Return the rank of the next healthy victim of a place before each node leaves it.

    :param is_healthy: the group holds the healthy nodes, of which each removal takes the next
        victim; a removal from another group leaves the next victim as it is.
    """
    healthy = ranks.get(leaving.place, ())
    if is_healthy:
        gone = len(healthy) - movable[leaving.place]
        return healthy[gone:]
    return [*healthy[:1]] * leaving.most


def _stages(places: Sequence[Place], group: Counts, after: Counts) -> Iterator[list[_Leaving]]:
    """Yield the nodes of a group that may leave, stage by stage.

    :param places: those that have a share of the nodes; all others count as unlisted.
    :param group: the remaining nodes of the group; each stage sees the effects of earlier stages.
    """
    if None in group:
        yield [_Leaving(None, 1, group[None])]
    listed_names = {place.name for place in places}
    unlisted = {name for name in group if name is not None and name not in listed_names}
    # The fullest place gives first. Of equally full ones the last by name keeps its nodes longest.
    yield [_Leaving(name, 1, group[name]) for name in sorted(unlisted, reverse=True)]
    yield [
        _Leaving(place.name, place.weight, min(group[place.name], after[place.name] - place.cap))
        for place in places
        if 0 <= place.cap < after[place.name]
    ]
    yield [
        _Leaving(place.name, place.weight, group[place.name])
        for place in places
        if group[place.name]
    ]


def _remove(
    stage: Sequence[_Leaving],
    count: int,
    group: Counts,
    after: Counts,
    ranks: Sequence[Sequence[int]],
) -> int:
    """Remove up to `count` nodes from `group` and `after`, and return their number.

    Of nodes of equal cost, the one of the lower weight leaves first, then the one whose place has
    the next victim, then the later one.
    """
    removed = min(count, sum(leaving.most for leaving in stage))
    if not removed:
        return 0
    present = [after[leaving.place] for leaving in stage]
    floors = [now - leaving.most for now, leaving in zip(present, stage, strict=True)]

    def precedence(i: int, kept: int) -> float:
        # `apportion` keeps the nodes of the lowest precedence.
        gone = present[i] - kept - 1
        return -ranks[i][gone] if gone < len(ranks[i]) else -math.inf

    weights = [leaving.weight for leaving in stage]
    final = apportion(sum(present) - removed, weights, floors, present, precedence)
    for leaving, before, now in zip(stage, present, final, strict=True):
        group[leaving.place] -= before - now
        after[leaving.place] = now
    return removed


def _rows(
    places: Sequence[Place],
    before: Counts,
    after: Counts,
    with_share: Collection[str],
    staying: NodeCounts = NOWHERE,
) -> tuple[Row, ...]:
    """:param with_share: the names of the places that have a share in the size afterwards."""
    listed_places = {place.name: place for place in places}
    known = [place.name for place in places if place.known]
    size = sum(after[name] for name in with_share)
    weights = sum(listed_places[name].weight for name in with_share)
    rows = []
    for name in [*known, *sorted({*listed_places, *filter(None, before)} - set(known))]:
        place = listed_places.get(name)
        note = note_of(place, after[name]) if place else NOT_LISTED
        protected = f'{staying[name]} protected' if staying.get(name) else ''
        row = Row(
            name=name,
            weight=place.weight if place else 0,
            cap=place.cap if place else NO_CAP,
            usable=name in with_share,
            current=before[name],
            ideal=size * place.weight / weights if place and name in with_share else 0.0,
            planned=abs(after[name] - before[name]),
            final=after[name],
            note=', '.join(filter(None, (note, protected))),
        )
        rows.append(row)
    return tuple(rows)


def _has_room(place: Place, row: Row, count: int) -> bool:
    if not place.available or place.shortage:
        return False
    return place.cap == NO_CAP or row.final + count <= place.cap
