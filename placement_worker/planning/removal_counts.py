"""The number of nodes that leave each place, as placement policies planned it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from placement_worker.contract.action_data import Deletion, PlaceCount
from placement_worker.planning.victims import UNKNOWN, Location


@dataclass(frozen=True, slots=True)
class RemovalCounts:
    """Location -> number of nodes to delete there; None if no policy planned.

    A location is (region,), (zone,) or, for a plan by region and zone, (region, zone). In such a
    plan (region,) stands for the nodes of the region whose zone is unknown. For an `undivided`
    region, one without usable zones, it stands for all of its nodes.
    """

    by_location: Mapping[Location, int] | None
    by_region: bool = False
    by_zone: bool = False
    undivided: frozenset[str] = frozenset()

    @classmethod
    def of(cls, deletion: Deletion, count: int) -> Self:
        """Read the counts from `places` of a deletion, else its `regions`, else its `zones`.

        :param count: the number of nodes to delete, which no plan may exceed.
        :raises InvalidInput: the plan is malformed or too large.
        """
        counts = cls._of(deletion)
        deletion.check_total(sum((counts.by_location or {}).values()), count)
        return counts

    @classmethod
    def _of(cls, deletion: Deletion) -> Self:
        regions, zones, places = deletion.regions, deletion.zones, deletion.places
        if places is not None:
            return cls._of_places(places, regions or {})
        if regions is not None:
            return cls({(name,): count for name, count in regions.items()}, by_region=True)
        if zones is not None:
            return cls({(name,): count for name, count in zones.items()}, by_zone=True)
        return cls(None)

    @classmethod
    def _of_places(cls, places: Iterable[PlaceCount], regions: Mapping[str, int]) -> Self:
        """Read a plan by region and zone.

        The part of a region's count that its zones do not cover belongs to its nodes of unknown
        zone.
        """
        divided: Counter[tuple[str, str]] = Counter()
        whole: Counter[str] = Counter()
        for region, zone, count in places:
            if zone is None:
                whole[region] += count
            else:
                divided[region, zone] += count
        left = {**whole, **regions}
        for (region, _), count in divided.items():
            if region in regions:
                left[region] -= count
        by_location: dict[Location, int] = {
            (region,): count for region, count in left.items() if count > 0
        }
        by_location.update(divided.items())
        undivided = frozenset(whole) - {region for region, _ in divided}
        return cls(by_location, by_region=True, by_zone=True, undivided=undivided)

    @property
    def unknown(self) -> frozenset[Location]:
        """The locations of nodes whose region, or whose zone within a region, is unknown."""
        if not (self.by_region and self.by_zone):
            return frozenset({UNKNOWN})
        regions = (place for place in self.by_location or () if len(place) == 1)
        return frozenset({UNKNOWN, *(place for place in regions if place[0] not in self.undivided)})

    def location(self, region: str | None, zone: str | None) -> Location:
        """Return the location that a node in this region and zone belongs to."""
        if self.by_region and self.by_zone:
            if region is None:
                return UNKNOWN
            return (region,) if zone is None or region in self.undivided else (region, zone)
        known = region if self.by_region else zone
        return UNKNOWN if known is None else (known,)
