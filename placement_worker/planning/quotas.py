"""How many nodes leave each place, as placement policies planned it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from placement_worker.errors import InvalidInput
from placement_worker.planning.inputs import DATA, natural, quotas, shown
from placement_worker.planning.victims import NOWHERE, Place

_PATH = f'{DATA}.deletion'


@dataclass(frozen=True, slots=True)
class Quotas:
    """Place -> number of nodes to delete there; empty if nobody planned.

    A place is (region,), (zone,) or, where both were planned, (region, zone). There (region,) stands for the
    nodes of a region that no zone is known of, and for all of `undivided` regions: those without usable zones.
    """

    asked: Mapping[Place, int]
    by_region: bool = False
    by_zone: bool = False
    undivided: frozenset[str] = frozenset()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Read them from the action's data: `deletion.places`, else its `regions`, else its `zones`.

        :raises InvalidInput: they are not what they have to be; the text names path and finding.
        """
        deletion = data.get('deletion', {})
        regions = quotas(deletion, 'region', _PATH)
        if 'places' in deletion:
            return cls._of_places(deletion['places'], regions)
        if regions:
            return cls({(name,): count for name, count in regions.items()}, by_region=True)
        zones = quotas(deletion, 'zone', _PATH)
        return cls({(name,): count for name, count in zones.items()}, by_zone=bool(zones))

    @classmethod
    def _of_places(cls, places: object, regions: Mapping[str, int]) -> Self:
        """Both were planned; what zones leave of a region's share goes to its nodes without a known zone."""
        if not isinstance(places, list):
            raise InvalidInput(f'Expected `array`, got {shown(places)} - at `{_PATH}.places`')
        asked: dict[Place, int] = {}
        without_zone = {(name,): count for name, count in regions.items()}
        undivided = set()
        for i, entry in enumerate(places):
            path = f'{_PATH}.places[{i}]'
            if not isinstance(entry, dict) or not isinstance(entry.get('region_name'), str):
                raise InvalidInput(f'Expected `object` with `region_name`, got {shown(entry)} - at `{path}`')
            region, zone = entry['region_name'], entry.get('zone')
            count = natural(entry.get('count'), f'{path}.count')
            if zone is None:
                undivided.add(region)
                without_zone.setdefault((region,), count)
            elif isinstance(zone, str):
                without_zone[region,] = without_zone.get((region,), 0) - count
                asked[region, zone] = asked.get((region, zone), 0) + count
            else:
                raise InvalidInput(f'Expected `str`, got {shown(zone)} - at `{path}.zone`')
        asked.update({place: count for place, count in without_zone.items() if count > 0})
        return cls(asked, by_region=True, by_zone=True, undivided=frozenset(undivided))

    def place(self, region: str | None, zone: str | None) -> Place:
        """To which of these places a node counts."""
        if self.by_region and self.by_zone:
            if region is None:
                return NOWHERE
            return (region,) if zone is None or region in self.undivided else (region, zone)
        known = region if self.by_region else zone
        return NOWHERE if known is None else (known,)

    def refuse_more_than(self, count: int) -> None:
        """A plan cannot take more nodes than are to be deleted.

        :raises InvalidInput: it does.
        """
        total = sum(self.asked.values())
        if total > count:
            raise InvalidInput(f'Expected a plan for at most {count} nodes, got one for {total} - at `{_PATH}`')
