"""Typed views of places in free-form data: `placement` and `placement_failures`."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from placement_worker.contract import values
from placement_worker.contract.cluster import Wire
from placement_worker.contract.model import PlaceOfNode
from placement_worker.errors import InvalidInput

FAILURES = 'placement_failures'
MOST_ATTEMPTS = 2**31 - 1


class RecordedFailure(Wire, frozen=True, kw_only=True):
    """The failed attempts to create nodes in a place, which outlive their nodes.

    `at`: the time of the latest failure, or at which another node of the same attempt was created.
    `attempts`: the number of attempts in a row up to then.
    """

    region_name: str | None = None
    zone: str | None = None
    at: datetime.datetime
    attempts: Annotated[int, Meta(ge=1, le=MOST_ATTEMPTS)]

    def __post_init__(self) -> None:
        if not self.region_name and not self.zone:
            raise ValueError('Expected `region_name`, `zone` or both, got none')


def recorded_failures(data: Mapping[str, Any]) -> list[RecordedFailure]:
    """Return the `placement_failures` in the data of a cluster, which are validated."""
    return msgspec.convert(data.get(FAILURES, []), list[RecordedFailure])


class _NodeData(Wire, frozen=True):
    placement: PlaceOfNode | None = None


class _Node(Wire, frozen=True):
    data: _NodeData = _NodeData()


class _ClusterData(Wire, frozen=True):
    placement_failures: list[RecordedFailure] = []


class _Cluster(Wire, frozen=True):
    nodes: list[_Node] = []
    data: _ClusterData = _ClusterData()


class _Action(Wire, frozen=True):
    node: _Node | None = None


class PlacesInData(Wire, frozen=True):
    """The shape of the places in the free-form data of a request; other keys may be anything.

    Decoding a request does not check this data. A zone that is no string would count as absent, or
    become the key of a plan.
    """

    action: _Action = _Action()
    cluster: _Cluster = _Cluster()


@dataclass(frozen=True, slots=True)
class Placement:
    """The `placement` of an action or a node."""

    _placement: Mapping[str, Any]

    @classmethod
    def of(cls, placement: object) -> Self:
        """Return the view of a value; anything but a map counts as absent."""
        return cls(placement if isinstance(placement, dict) else {})

    def __bool__(self) -> bool:
        """Return whether a region or a zone is named."""
        return bool(self._placement.get('zone') or self._placement.get('region_name'))

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Region and zone; None for one that is not named."""
        region, zone = self._placement.get('region_name'), self._placement.get('zone')
        return _name(region), _name(zone)

    @property
    def places(self) -> list[tuple[str | None, str | None]]:
        """The place of each entry, one per node to create."""
        listed = self._placement.get('placements')
        return [Placement.of(one).place for one in listed] if isinstance(listed, list) else []

    def check(self, path: str) -> None:
        """Check the count, and each entry with its region and zone.

        :param path: of the placement, for the error.
        :raises InvalidInput: a value does not fit.
        """
        if 'count' in self._placement:
            values.natural(self._placement['count'], f'{path}.count')
        listed = values.sequence(self._placement.get('placements', []), f'{path}.placements')
        for i, one in enumerate(listed):
            at = f'{path}.placements[{i}]'
            entry = values.mapping(one, at)
            for key in ('region_name', 'zone'):
                if not isinstance(entry.get(key, ''), str | None):
                    found = values.shown(entry[key])
                    raise InvalidInput(f'Expected `str | null`, got {found} - at `{at}.{key}`')

    def is_at(self, place: Mapping[str, str]) -> bool:
        """Return whether the placement has the region and the zone of `place`."""
        return place.items() <= self._placement.items()

    def moved(self, place: Mapping[str, str]) -> dict[str, Any]:
        """Return the placement at another place."""
        return _moved(self._placement, place)

    def with_entries(self, places: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Return the placement with one entry per place; other keys of earlier entries stay."""
        listed = self._placement.get('placements')
        entries = chain(listed if isinstance(listed, list) else (), repeat({}))
        moved = [_moved(entry, place) for entry, place in zip(entries, places, strict=False)]
        return {**self._placement, 'count': len(moved), 'placements': moved}


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _moved(placement: object, place: Mapping[str, str]) -> dict[str, Any]:
    """Return a placement at another place; an earlier zone is dropped with its region."""
    kept = placement if isinstance(placement, dict) else {}
    if 'region_name' in place:
        kept = {key: value for key, value in kept.items() if key != 'zone'}
    return {**kept, **place}
