"""Typed views of an action's data: `creation` and `deletion`.

Any policy may write any key into these maps. A view decodes a key when a policy reads it, so an
invalid value fails only the checks that depend on it. Keys that no view names stay as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import Struct
from typing_extensions import override

from placement_worker.contract import plan_totals, values
from placement_worker.contract.placement_data import Placement
from placement_worker.errors import InvalidInput
from placement_worker.formats.text import counted, shortened

PATH = '$.action.data'

Kind = Literal['creation', 'deletion']
CREATION: Kind = 'creation'
DELETION: Kind = 'deletion'

PLAN_KEYS = frozenset({'alternatives', 'places', 'region', 'regions', 'zone', 'zones'})


class PlaceCount(NamedTuple):
    """A number of nodes in a zone of a region, or in a region whose zones do not matter."""

    region: str
    zone: str | None
    nodes: int


class Change(Struct, frozen=True):
    """The creation or deletion that earlier policies decided; empty if they decided none."""

    kind: ClassVar[Kind]
    path: ClassVar[str]
    views: ClassVar[Sequence[str]] = ('count', 'regions', 'zones')

    _decided: Mapping[str, Any]

    @property
    def count(self) -> int:
        """The number of nodes; 1 if no policy set it.

        :raises InvalidInput: it is not an integer >= 0.
        """
        if 'count' not in self._decided:
            return 1
        return values.natural(self._decided['count'], f'{self.path}.count')

    @property
    def regions(self) -> dict[str, int] | None:
        """Region -> number of nodes; None if no policy planned by region.

        :raises InvalidInput: it is no map of integers >= 0.
        """
        return self._planned('regions', 'region')

    @property
    def zones(self) -> dict[str, int] | None:
        """Zone -> number of nodes; None if no policy planned by zone.

        :raises InvalidInput: it is no map of integers >= 0.
        """
        return self._planned('zones', 'zone')

    def check(self) -> None:
        """Check all keys that have a view.

        :raises InvalidInput: a value does not fit.
        """
        for name in self.views:
            getattr(self, name)

    def regions_of(self, count: int) -> dict[str, int] | None:
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
        """Return the map with this plan in place of an earlier one."""
        kept = {key: value for key, value in self._decided.items() if key not in PLAN_KEYS}
        return {**kept, 'count': count, **plan}

    def _planned(self, *keys: str) -> dict[str, int] | None:
        """Return the counts by place under the first key that holds any."""
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
    """The creation that earlier policies decided."""

    kind = CREATION
    path = f'{PATH}.{CREATION}'
    views = (*Change.views, 'nodes')

    @property
    def nodes(self) -> list[str]:
        """The ids of the nodes that the engine has created.

        :raises InvalidInput: it is no list of distinct ids.
        """
        return values.node_ids(self._decided.get('nodes', []), f'{self.path}.nodes')


class Deletion(Change, frozen=True):
    """The deletion that earlier policies decided."""

    kind = DELETION
    path = f'{PATH}.{DELETION}'
    views = (*Change.views, 'candidates', 'grace_period', 'places')

    @property
    @override
    def count(self) -> int:
        # A policy that names nodes need not count them.
        named = len(self.candidates or ())
        if 'count' not in self._decided:
            return named or 1
        return max(super().count, named)

    @property
    def candidates(self) -> list[str] | None:
        """The ids of the victims, in order; None if no policy chose them.

        :raises InvalidInput: it is no list of distinct ids.
        """
        chosen = self._decided.get('candidates')
        return None if chosen is None else values.node_ids(chosen, f'{self.path}.candidates')

    @property
    def grace_period(self) -> int | None:
        """The seconds that the engine waits before it deletes the nodes; None if not decided.

        :raises InvalidInput: it is not an integer >= 0.
        """
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
        """The counts of places planned by region and zone; None if no policy planned by both.

        :raises InvalidInput: it is no list of such counts.
        """
        if 'places' not in self._decided:
            return None
        path = f'{self.path}.places'
        listed = values.sequence(self._decided['places'], path)
        return [_place_count(entry, f'{path}[{i}]') for i, entry in enumerate(listed)]

    def check_total(self, total: int, count: int) -> None:
        """Check that the plan does not remove more nodes than the action.

        :raises InvalidInput: `total`, the nodes that the plan removes, exceeds `count`.
        """
        if total > count:
            raise wrong_total(f'at most {counted(count, "node")}', total, self.path)


class ActionData(Struct, frozen=True):
    """An action's whole data with a typed view of each map that policies share."""

    data: Mapping[str, Any]

    @property
    def creation(self) -> Creation:
        """The decided creation.

        :raises InvalidInput: the value is no map.
        """
        if CREATION not in self.data:
            return Creation({})
        return Creation(values.mapping(self.data[CREATION], Creation.path))

    @property
    def deletion(self) -> Deletion:
        """The decided deletion.

        :raises InvalidInput: the value is no map.
        """
        if DELETION not in self.data:
            return Deletion({})
        return Deletion(values.mapping(self.data[DELETION], Deletion.path))

    def change(self, kind: Kind) -> Change:
        """Return the decided creation or deletion."""
        return self.creation if kind == CREATION else self.deletion

    def decided(self, kinds: Iterable[Kind]) -> list[Change]:
        """Return the changes of these kinds that earlier policies decided."""
        return [self.change(kind) for kind in kinds if kind in self.data]

    def planned(
        self,
        kind: Kind,
        count: int,
        plan: Mapping[str, Any],
        entries: Sequence[Mapping[str, str]] = (),
    ) -> dict[str, Any]:
        """Return the whole data with a plan in place of an earlier one.

        :param plan: the counts by place, e.g. `regions` and `zones`.
        :param entries: the place of each node to create; `placement` holds them.
        :raises ValueError: as `plan_totals.check`.
        """
        plan_totals.check(kind, count, plan, entries)
        data = {**self.data, kind: self.change(kind).replanned(count, **plan)}
        if entries:
            data['placement'] = Placement.of(self.data.get('placement')).with_entries(entries)
        return data


def wrong_total(expected: str, total: int, path: str) -> InvalidInput:
    """Return the error of a plan whose counts do not fit its number of nodes."""
    return InvalidInput(f'Expected a plan for {expected}, got one for {total} - at `{path}`')


def _place_count(entry: object, path: str) -> PlaceCount:
    if not isinstance(entry, dict) or not isinstance(entry.get('region_name'), str):
        raise InvalidInput(
            f'Expected `object` with `region_name`, got {values.shown(entry)} - at `{path}`'
        )
    zone = entry.get('zone')
    if not isinstance(zone, str | None):
        raise InvalidInput(f'Expected `str`, got {values.shown(zone)} - at `{path}.zone`')
    count = values.natural(entry.get('count'), f'{path}.count')
    return PlaceCount(entry['region_name'], zone, count)
