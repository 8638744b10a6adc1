"""How many nodes leave each place, as placement policies planned it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from placement_worker.contract.inputs import DATA, decision, natural, planned, shown
from placement_worker.errors import InvalidInput
from placement_worker.planning.sizing import DELETION
from placement_worker.planning.victims import NOWHERE, Location

_PATH = f'{DATA}.{DELETION}'


@dataclass(frozen=True, slots=True)
class Quotas:
    """Location -> number of nodes to delete there; None if nobody planned.

    A location is (region,), (zone,) or, where both were planned, (region, zone). There (region,)
    stands for the nodes of a region that no zone is known of, and for all of `undivided` regions:
    those without usable zones.
    """

    asked: Mapping[Location, int] | None
    by_region: bool = False
    by_zone: bool = False
    undivided: frozenset[str] = frozenset()

    @classmethod
    def of(cls, data: Mapping[str, Any], count: int) -> Self:
        """Read them from the action's data: `deletion.places`, else its `regions`, else its
        `zones`.

        :param count: the number of nodes to delete, which no plan may exceed.
        :raises InvalidInput: they are not what they have to be; the text names path and finding.
        """
        quotas = cls._of(data)
        total = sum((quotas.asked or {}).values())
        if total > count:
            raise InvalidInput(
                f'Expected a plan for at most {count} nodes, got one for {total} - at `{_PATH}`'
            )
        return quotas

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Self:
        regions, zones = planned(data, DELETION, 'region'), planned(data, DELETION, 'zone')
        if 'places' in decision(data, DELETION):
            return cls._of_places(decision(data, DELETION)['places'], regions or {})
        if regions is not None:
            return cls({(name,): count for name, count in regions.items()}, by_region=True)
        if zones is not None:
            return cls({(name,): count for name, count in zones.items()}, by_zone=True)
        return cls(None)

    @classmethod
    def _of_places(cls, places: object, regions: Mapping[str, int]) -> Self:
        """Both were planned; what zones leave of a region's share goes to its nodes without a known
        zone.
        """
        if not isinstance(places, list):
            raise InvalidInput(f'Expected `array`, got {shown(places)} - at `{_PATH}.places`')
        divided: dict[tuple[str, str], int] = {}
        whole: dict[str, int] = {}
        for i, entry in enumerate(places):
            region, zone, count = _entry(entry, f'{_PATH}.places[{i}]')
            if zone is None:
                whole[region] = whole.get(region, 0) + count
            else:
                divided[region, zone] = divided.get((region, zone), 0) + count
        left = {**whole, **regions}
        for (region, _), count in divided.items():
            if region in regions:
                left[region] -= count
        asked: dict[Location, int] = {
            (region,): count for region, count in left.items() if count > 0
        }
        asked.update(divided.items())
        undivided = frozenset(whole) - {region for region, _ in divided}
        return cls(asked, by_region=True, by_zone=True, undivided=undivided)

    @property
    def unknown(self) -> frozenset[Location]:
        """The locations of nodes whose place is unknown, wholly or but for the region."""
        if not (self.by_region and self.by_zone):
            return frozenset({NOWHERE})
        regions = (place for place in self.asked or () if len(place) == 1)
        return frozenset({NOWHERE, *(place for place in regions if place[0] not in self.undivided)})

    def location(self, region: str | None, zone: str | None) -> Location:
        """To which of these a node counts."""
        if self.by_region and self.by_zone:
            if region is None:
                return NOWHERE
            return (region,) if zone is None or region in self.undivided else (region, zone)
        known = region if self.by_region else zone
        return NOWHERE if known is None else (known,)


def _entry(entry: object, path: str) -> tuple[str, str | None, int]:
    """Region, zone if there is one, and count of an entry of `places`."""
    if not isinstance(entry, dict) or not isinstance(entry.get('region_name'), str):
        raise InvalidInput(
            f'Expected `object` with `region_name`, got {shown(entry)} - at `{path}`'
        )
    zone = entry.get('zone')
    if not isinstance(zone, str | None):
        raise InvalidInput(f'Expected `str`, got {shown(zone)} - at `{path}.zone`')
    return entry['region_name'], zone, natural(entry.get('count'), f'{path}.count')
