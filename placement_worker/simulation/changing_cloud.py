"""The cloud of a simulation: zones, regions and capacity that are lost and come back.

Steps change the cloud and not its description, so that a place that is back is the same as before.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory, Region
from placement_worker.cloud.embedded.octavia_simulator import OperatingStatus
from placement_worker.cloud.ports import Cloud, Clouds
from placement_worker.contract.model import Credentials
from placement_worker.planning.places import Cordon


class ChangingCloud(Clouds):
    """The embedded cloud, with load balancers in memory that change at once."""

    def __init__(self, inventory: Inventory) -> None:
        settings = structs.replace(inventory.load_balancer, pending_s=0, state=None)
        self.inventory = structs.replace(inventory, load_balancer=settings)
        self._whole = self.inventory  # with the lost regions
        self._lost_regions: set[str] = set()
        self._exhausted: set[str] = set()
        self._ever_available = _available(inventory)

    @override
    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        return self.inventory

    @override
    def acting_as_service(self) -> Cloud:
        return self.inventory

    @property
    def outages(self) -> list[str]:
        """The zones and regions that are unavailable now but were before, and exhausted zones."""
        lost = self._lost_regions | (self._ever_available - _available(self._whole))
        return sorted(lost | {f'{zone} (no capacity)' for zone in self._exhausted})

    def set_capacity(self, name: str, has_room: bool) -> None:
        self._exhausted = self._exhausted - {name} if has_room else self._exhausted | {name}

    def has_room(self, region: str | None, zone: str | None) -> bool:
        """Return whether a zone has room for a new node; no zone stands for any zone."""
        return self._exhausted.isdisjoint({zone, f'{region}/{zone}'})

    def set_zone(self, name: str, available: bool) -> None:
        """Set whether Nova reports `az1` of all regions, or `RegionOne/az1`, as available."""
        whole = self._whole
        regions = {
            key: Region(
                region.zones and _with_zone(region.zones, name.removeprefix(f'{key}/'), available)
            )
            for key, region in whole.described_regions.items()
        }
        zones = _with_zone(whole.zone_list, name, available)
        self._show(whole.changed(zone_list=zones, region_map=regions))

    def set_region(self, name: str, known: bool) -> None:
        self._lost_regions = self._lost_regions - {name} if known else self._lost_regions | {name}
        self._show(self._whole)

    def set_member_statuses(self, by_address: Mapping[str, OperatingStatus]) -> None:
        """Set what the health monitors of pools find; other members are ONLINE."""
        settings = structs.replace(self._whole.load_balancer, member_status=dict(by_address))
        self._show(self._whole.changed(load_balancer=settings))

    def _show(self, whole: Inventory) -> None:
        self._whole = whole
        self._ever_available |= _available(whole)
        described = whole.described_regions
        regions = {name: described[name] for name in described if name not in self._lost_regions}
        # A cloud without regions would have its zones in any region.
        zones = {} if described and not regions else whole.zone_list
        self.inventory = whole.changed(zone_list=zones, region_map=regions)


def _available(inventory: Inventory) -> set[str]:
    """Return the names of the available zones; zones of one region include its name."""
    of_regions = {
        f'{name}/{zone}': available
        for name, region in inventory.described_regions.items()
        for zone, available in (region.zones or {}).items()
    }
    zones = {**inventory.zone_list, **of_regions}
    return {zone for zone, available in zones.items() if available}


def _with_zone(zones: dict[str, bool], zone: str, available: bool) -> dict[str, bool]:
    return {**zones, zone: available} if zone in zones else zones


def without_evacuated(inventory: Inventory, cordons: Sequence[Cordon]) -> Inventory:
    """Return a cloud whose evacuated regions are unknown, and evacuated zones unavailable."""
    cordons = [cordon for cordon in cordons if cordon.evacuate]
    if not cordons:
        return inventory
    shared = inventory.zone_list
    opened = {
        name: Region(_open(shared if region.zones is None else region.zones, name, cordons))
        for name, region in inventory.described_regions.items()
        if not any(cordon.covers(name, None) for cordon in cordons)
    }
    zones = _open(shared, inventory.home_region, cordons)
    return inventory.changed(zone_list=zones, region_map=opened)


def _open(
    zones: Mapping[str, bool], region: str | None, cordons: Sequence[Cordon]
) -> dict[str, bool]:
    return {
        name: is_available and not any(cordon.covers(region, name) for cordon in cordons)
        for name, is_available in zones.items()
    }
