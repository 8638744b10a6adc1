"""Regions in which no node can be created because of their zones or of cordons."""

from collections.abc import Sequence

from msgspec import structs

from placement_worker.errors import NoUsablePlace
from placement_worker.planning.places import Place
from placement_worker.policies import cordoned_places, place_names
from placement_worker.policies.base import State
from placement_worker.policies.zone_shares import NO_USABLE_ZONE


def with_zones(region: Place, zones: Sequence[str], state: State) -> Place:
    """Return the region, unavailable if no node can be created in any of the zones there."""
    if not region.available:
        return region
    known = state.cloud.zones(region.name)
    if any(known.get(zone) for zone in zones):
        return region
    return structs.replace(region, available=False, note=NO_USABLE_ZONE)


def no_zone(
    regions: Sequence[Place], zones: Sequence[str], state: State, reason: str
) -> NoUsablePlace:
    """Return the error of regions without a usable zone, with a warning of the unknown zones.

    :param regions: the results of `with_zones`.
    """
    asked = (region.name for region in regions if region.note == NO_USABLE_ZONE)
    known = set[str]().union(*(state.cloud.zones(name) for name in asked))
    return place_names.none_usable(reason, 'availability zone', 'zones', zones, known)


def without_cordoned_zones(region: Place, zones: Sequence[str], state: State) -> Place:
    """Return the region, closed if all zones that are available there are cordoned."""
    if not region.available or not state.cordons:
        return region
    known = state.cloud.zones(region.name)
    available = [zone for zone in zones if known.get(zone)]
    cordons = [cordoned_places.of_zone(zone, region.name, state) for zone in available]
    found = [one for one in cordons if one]
    if not found or len(found) < len(cordons):
        return region
    notes = ', '.join(map(str, dict.fromkeys(found)))
    return region.closed(found, f'{NO_USABLE_ZONE}: {notes}')


def check_any_open(regions: Sequence[Place], reason: str) -> None:
    """Check that cordons leave a region for a creation.

    :raises NoUsablePlace: they leave none; the text names them.
    """
    if not any(region.available for region in regions):
        cordoned_places.check_cordons(regions, reason)


def open_zones(region: Place, zones: Sequence[str], state: State) -> list[str]:
    """Return the zones in which nodes can be created in a region; none if zones do not matter."""
    if not zones or not region.available:
        return []
    known = state.cloud.zones(region.name)
    return [
        zone
        for zone in zones
        if known.get(zone) and not cordoned_places.of_zone(zone, region.name, state)
    ]
