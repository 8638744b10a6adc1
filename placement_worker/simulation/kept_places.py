"""The part of a cloud that keeps nodes: all but the places that are evacuated."""

from collections.abc import Mapping, Sequence

from placement_worker.cloud.embedded.inventory import Inventory, Region
from placement_worker.planning.cordon import Cordon


def of(inventory: Inventory, cordons: Sequence[Cordon]) -> Inventory:
    """Return the cloud without evacuated regions, and with evacuated zones unavailable."""
    cordons = [one for one in cordons if one.evacuate]
    if not cordons:
        return inventory
    known = inventory.region_map
    regions = known if isinstance(known, dict) else {name: Region() for name in known}
    shared = inventory.zone_list
    opened = {
        name: Region(_open(shared if region.zones is None else region.zones, name, cordons))
        for name, region in regions.items()
        if not any(one.covers(name, None) for one in cordons)
    }
    zones = _open(shared, inventory.home_region, cordons)
    return inventory.changed(zone_list=zones, region_map=opened)


def _open(
    zones: Mapping[str, bool], region: str | None, cordons: Sequence[Cordon]
) -> dict[str, bool]:
    return {
        name: is_available and not any(one.covers(region, name) for one in cordons)
        for name, is_available in zones.items()
    }
