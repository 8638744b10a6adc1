"""A plan: a row for each place, with its nodes before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct, structs

from placement_worker.planning.places import NO_CAP, UNKNOWN, Located, Place

NOT_LISTED = 'not listed'
NO_KNOWN_PLACE = 'no known place'


class Row(Struct, frozen=True):
    """One place of a plan; `ideal` is the share of the place in the size afterwards."""

    name: str
    weight: int
    cap: int
    usable: bool
    current: int
    ideal: float
    planned: int
    final: int
    note: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The places in the order of the spec, then unlisted places by name.

    `unplaced`: the number of nodes of unknown place to delete.
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


def listed_rows(
    places: Sequence[Place], held: Sequence[int], final: Sequence[int], usable: Sequence[bool]
) -> tuple[Row, ...]:
    """Return the rows of known places; only usable ones have a share in the size afterwards."""
    size = sum(count for count, counts in zip(final, usable, strict=True) if counts)
    weight = sum(place.weight for place, counts in zip(places, usable, strict=True) if counts)
    return tuple(
        Row(
            name=place.name,
            weight=place.weight,
            cap=place.cap,
            usable=counts,
            current=before,
            ideal=size * place.weight / weight if counts else 0.0,
            planned=abs(after - before),
            final=after,
            note=note_of(place, after),
        )
        for place, before, after, counts in zip(places, held, final, usable, strict=True)
    )


def with_protected(rows: Sequence[Row], staying: Located) -> tuple[Row, ...]:
    """Return the rows with the number of protected nodes in their notes."""
    notes = (f'{staying[row.name]} protected' if staying.get(row.name) else '' for row in rows)
    return tuple(
        structs.replace(row, note=', '.join(filter(None, (row.note, note))))
        for row, note in zip(rows, notes, strict=True)
    )


def unlisted_rows(
    places: Sequence[Place], before: Mapping[str, int], after: Mapping[str, int]
) -> tuple[Row, ...]:
    """Return the rows of places that are unlisted or unknown to the cloud, by name."""
    listed = {place.name: place for place in places}
    return tuple(
        Row(
            name=name,
            weight=listed[name].weight if name in listed else 0,
            cap=listed[name].cap if name in listed else NO_CAP,
            usable=False,
            current=before[name],
            ideal=0.0,
            planned=before[name] - after[name],
            final=after[name],
            note=UNKNOWN if name in listed else NOT_LISTED,
        )
        for name in sorted(before)
    )


def note_of(place: Place, nodes: int) -> str:
    """Return what keeps a known place from having more nodes, or an empty string."""
    if place.remark:
        return place.remark
    return ', '.join(filter(None, (str(place.shortage or ''), _note_of_cap(place.cap, nodes))))


def _note_of_cap(cap: int, nodes: int) -> str:
    if cap < 0 or nodes < cap:
        return ''
    return 'at its cap' if nodes == cap else 'over its cap'
