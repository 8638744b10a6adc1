"""Typed views of free-form data: `creation`, `deletion`, `placement` and `placement_failures`.

Any policy may write any key into these maps. A view decodes a key when a policy reads it, so an
invalid value fails only the checks that depend on it, with InvalidInput. Keys that no view names
stay as they are.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from msgspec import Meta, Struct
from typing_extensions import override

from placement_worker.contract import codec, values
from placement_worker.contract.model import ContractStruct, PlaceOfNode
from placement_worker.errors import InvalidInput
from placement_worker.formats.text import counted, shortened

FAILURES = 'placement_failures'
MOST_ATTEMPTS = 2**31 - 1
# Region and zone; None stands for an unknown one, and for a level at which no policy places nodes.
Location = tuple[str | None, str | None]


class RecordedFailure(ContractStruct, frozen=True, kw_only=True):
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
    return codec.convert(data.get(FAILURES, []), list[RecordedFailure])


class _NodeData(ContractStruct, frozen=True):
    placement: PlaceOfNode | None = None


class _Node(ContractStruct, frozen=True):
    data: _NodeData = _NodeData()


class _ClusterData(ContractStruct, frozen=True):
    placement_failures: list[RecordedFailure] = []


class _Cluster(ContractStruct, frozen=True):
    nodes: list[_Node] = []
    data: _ClusterData = _ClusterData()


class _Action(ContractStruct, frozen=True):
    node: _Node | None = None


class PlacesInData(ContractStruct, frozen=True):
    """The shape of the places in the free-form data of a request; other keys may be anything.

    Decoding a request does not check this data. A zone that is no string would count as absent, or
    become the key of a plan.
    """

    action: _Action = _Action()
    cluster: _Cluster = _Cluster()


@dataclass(frozen=True, slots=True)
class Placement:
    _placement: Mapping[str, Any]

    @classmethod
    def of(cls, placement: object) -> Self:
        """Return the view of a value; anything but a map counts as absent."""
        return cls(placement if isinstance(placement, dict) else {})

    def __bool__(self) -> bool:
        return bool(self._placement.get('zone') or self._placement.get('region_name'))

    @property
    def place(self) -> Location:
        region, zone = self._placement.get('region_name'), self._placement.get('zone')
        return _name(region), _name(zone)

    @property
    def places(self) -> list[Location]:
        """The place of each entry, one per node to create."""
        listed = self._placement.get('placements')
        return [Placement.of(entry).place for entry in listed] if isinstance(listed, list) else []

    def check(self, path: str) -> None:
        """Check the count, and each entry with its region and zone."""
        if 'count' in self._placement:
            values.natural(self._placement['count'], f'{path}.count')
        listed = values.sequence(self._placement.get('placements', []), f'{path}.placements')
        for i, listed_entry in enumerate(listed):
            at = f'{path}.placements[{i}]'
            entry = values.mapping(listed_entry, at)
            for key in ('region_name', 'zone'):
                if not isinstance(entry.get(key, ''), str | None):
                    name = values.value_text(entry[key])
                    raise InvalidInput(f'Expected `str | null`, got {name} - at `{at}.{key}`')

    def is_at(self, place: Mapping[str, str]) -> bool:
        return place.items() <= self._placement.items()

    def moved(self, place: Mapping[str, str]) -> dict[str, Any]:
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


def _check_plan(kind: str, count: int, plan: Mapping[str, Any], entries: Sequence[object]) -> None:
    """Check the arguments of a policy that plans; see `ActionData.planned`.

    A plan may have fewer nodes by zone: some are created without a zone, or are in an unknown one.
    """
    if kind not in ('creation', 'deletion'):
        raise ValueError(f"kind must be 'creation' or 'deletion', got {kind!r}")
    for key in ('regions', 'zones'):
        total = sum(plan.get(key, {}).values())
        if total > count:
            raise ValueError(f'{key} must have at most {counted(count, "node")}, got {total}')
    if entries and len(entries) != count:
        raise ValueError(f'entries must have {counted(count, "place")}, got {len(entries)}')


PATH = '$.action.data'

ChangeKind = Literal['creation', 'deletion']
CREATION: ChangeKind = 'creation'
DELETION: ChangeKind = 'deletion'

PLAN_KEYS = frozenset({'alternatives', 'places', 'region', 'regions', 'zone', 'zones'})


class PlaceCount(NamedTuple):
    """A number of nodes in a zone of a region, or in a region whose zones do not matter."""

    region: str
    zone: str | None
    nodes: int


class Change(Struct, frozen=True):
    """The creation or deletion that earlier policies decided; empty if they decided none."""

    kind: ClassVar[ChangeKind]
    path: ClassVar[str]
    views: ClassVar[Sequence[str]] = ('count', 'regions', 'zones')

    _decided: Mapping[str, Any]

    @property
    def count(self) -> int:
        """The number of nodes; 1 if no policy set it."""
        return values.natural(self._decided.get('count', 1), f'{self.path}.count')

    @property
    def regions(self) -> dict[str, int] | None:
        """Region -> number of nodes; None if no policy planned by region."""
        return self._planned('regions', 'region')

    @property
    def zones(self) -> dict[str, int] | None:
        """Zone -> number of nodes; None if no policy planned by zone."""
        return self._planned('zones', 'zone')

    def check(self) -> None:
        """Check all keys that have a view."""
        for name in self.views:
            getattr(self, name)

    def checked_regions(self, count: int) -> dict[str, int] | None:
        """Return the share of `count` nodes that each region takes, as `regions`.

        :raises InvalidInput: the shares exceed the count, or those of a creation fall short of it.
        """
        regions = self.regions
        if regions is None:
            return None
        total = sum(regions.values())
        if total > count or (total < count and self.kind == CREATION):
            raise wrong_total(counted(count, 'node'), total, f'{self.path}.regions')
        return regions

    def updated(self, **changes: Any) -> dict[str, Any]:
        """Return the map with these keys changed; `zones` replaces `zone`, and so on."""
        kept = {key: value for key, value in self._decided.items() if f'{key}s' not in changes}
        return {**kept, **changes}

    def replanned(self, count: int, **plan: Any) -> dict[str, Any]:
        kept = {key: value for key, value in self._decided.items() if key not in PLAN_KEYS}
        return {**kept, 'count': count, **plan}

    def _planned(self, *keys: str) -> dict[str, int] | None:
        present = [key for key in keys if key in self._decided]
        if not present:
            return None
        key = next((key for key in present if self._decided[key]), present[0])
        path = f'{self.path}.{key}'
        planned = values.mapping(self._decided[key], path)
        return {
            name: values.natural(count, f'{path}.{shortened(name)}')
            for name, count in planned.items()
        }


class Creation(Change, frozen=True):
    kind = CREATION
    path = f'{PATH}.{CREATION}'
    views = (*Change.views, 'nodes')

    @property
    def nodes(self) -> list[str]:
        """The ids of the nodes that the engine has created."""
        return values.node_ids(self._decided.get('nodes', []), f'{self.path}.nodes')


class Deletion(Change, frozen=True):
    kind = DELETION
    path = f'{PATH}.{DELETION}'
    views = (*Change.views, 'candidates', 'grace_period', 'places')

    @property
    @override
    def count(self) -> int:
        # A policy that names nodes need not count them.
        named = len(self.candidates or ())
        return max(super().count, named) if 'count' in self._decided else named or 1

    @property
    def candidates(self) -> list[str] | None:
        """The ids of the victims, in order; None if no policy chose them."""
        chosen = self._decided.get('candidates')
        return None if chosen is None else values.node_ids(chosen, f'{self.path}.candidates')

    @property
    def grace_period(self) -> int | None:
        """The seconds that the engine waits before it deletes the nodes; None if not decided."""
        if 'grace_period' not in self._decided:
            return None
        return values.natural(self._decided['grace_period'], f'{self.path}.grace_period')

    @property
    def candidate_count(self) -> int | None:
        """The length of the list of victims, valid or not; None if there is no list."""
        chosen = self._decided.get('candidates')
        return len(chosen) if isinstance(chosen, list) else None

    @property
    def places(self) -> list[PlaceCount] | None:
        """The counts of places planned by region and zone; None if no policy planned by both."""
        if 'places' not in self._decided:
            return None
        path = f'{self.path}.places'
        listed = values.sequence(self._decided['places'], path)
        return [_place_count(entry, f'{path}[{i}]') for i, entry in enumerate(listed)]

    def check_total(self, total: int, count: int) -> None:
        """Check that the plan does not remove more nodes than the action."""
        if total > count:
            raise wrong_total(f'at most {counted(count, "node")}', total, self.path)


class ActionData(Struct, frozen=True):
    """An action's whole data with a typed view of each map that policies share."""

    data: Mapping[str, Any]

    @property
    def creation(self) -> Creation:
        return Creation(values.mapping(self.data.get(CREATION, {}), Creation.path))

    @property
    def deletion(self) -> Deletion:
        return Deletion(values.mapping(self.data.get(DELETION, {}), Deletion.path))

    def change(self, kind: ChangeKind) -> Change:
        return self.creation if kind == CREATION else self.deletion

    def decided(self, kinds: Iterable[ChangeKind]) -> list[Change]:
        return [self.change(kind) for kind in kinds if kind in self.data]

    def planned(
        self,
        kind: ChangeKind,
        count: int,
        plan: Mapping[str, Any],
        entries: Sequence[Mapping[str, str]] = (),
    ) -> dict[str, Any]:
        """Return the whole data with a plan in place of an earlier one.

        :param plan: the counts by place, e.g. `regions` and `zones`.
        :param entries: the place of each node to create; `placement` holds them.
        :raises ValueError: the counts by place, or the entries, do not add up to `count`.
        """
        _check_plan(kind, count, plan, entries)
        data = {**self.data, kind: self.change(kind).replanned(count, **plan)}
        if entries:
            data['placement'] = Placement.of(self.data.get('placement')).with_entries(entries)
        return data


def stated_candidates(data: Mapping[str, Any]) -> Any:
    """Return the list of victims, valid or not; None if there is none."""
    deletion = data.get(DELETION)
    return deletion.get('candidates') if isinstance(deletion, Mapping) else None


def wrong_total(expected: str, total: int, path: str) -> InvalidInput:
    return InvalidInput(f'Expected a plan for {expected}, got one for {total} - at `{path}`')


def _place_count(entry: object, path: str) -> PlaceCount:
    if not isinstance(entry, dict) or not isinstance(entry.get('region_name'), str):
        raise InvalidInput(
            f'Expected `object` with `region_name`, got {values.value_text(entry)} - at `{path}`'
        )
    zone = entry.get('zone')
    if not isinstance(zone, str | None):
        raise InvalidInput(f'Expected `str`, got {values.value_text(zone)} - at `{path}.zone`')
    count = values.natural(entry.get('count'), f'{path}.count')
    return PlaceCount(entry['region_name'], zone, count)
