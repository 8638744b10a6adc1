"""A cloud that loses and regains zones, regions and capacity while a scenario is played."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import OperatingStatus
from placement_worker.cloud.ports import Cloud, Clouds
from placement_worker.contract.model import Credentials


class ChangingCloud(Clouds):
    """The embedded cloud of a scenario; `inventory` is what it shows now."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self._whole = inventory  # with the lost regions
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
        """Set whether a zone has room for new nodes; `name` is that of `set_zone`."""
        self._exhausted = self._exhausted - {name} if has_room else self._exhausted | {name}

    def has_room(self, region: str | None, zone: str | None) -> bool:
        """Return whether a zone has room for a new node; no zone stands for any zone."""
        return self._exhausted.isdisjoint({zone, f'{region}/{zone}'})

    def set_zone(self, name: str, available: bool) -> None:
        """Set whether Nova reports a zone as available.

        :param name: a zone of one region (`RegionOne/az1`), or a zone of all regions.
        """
        whole = self._whole
        zones = _with_zone(whole.zone_list, name, available)
        regions = whole.region_map
        if isinstance(regions, dict):
            regions = {
                key: structs.replace(
                    one, zones=_with_zone(one.zones, name.removeprefix(f'{key}/'), available)
                )
                if one.zones
                else one
                for key, one in regions.items()
            }
        self._show(whole.changed(zone_list=zones, region_map=regions))

    def set_region(self, name: str, known: bool) -> None:
        """Set whether Keystone knows a region."""
        self._lost_regions = self._lost_regions - {name} if known else self._lost_regions | {name}
        self._show(self._whole)

    def set_member_statuses(self, by_address: Mapping[str, OperatingStatus]) -> None:
        """Set what the health monitors of pools find; other members are ONLINE."""
        settings = structs.replace(self._whole.load_balancer, member_status=dict(by_address))
        self._show(self._whole.changed(load_balancer=settings))

    def _show(self, whole: Inventory) -> None:
        self._whole = whole
        self._ever_available |= _available(whole)
        known: Any = whole.region_map
        if isinstance(known, dict):
            known = {
                name: region for name, region in known.items() if name not in self._lost_regions
            }
        else:
            known = [name for name in known if name not in self._lost_regions]
        self.inventory = whole.changed(region_map=known)


def _available(inventory: Inventory) -> set[str]:
    """Return the names of the available zones; zones of one region include its name."""
    regions = inventory.region_map if isinstance(inventory.region_map, dict) else {}
    of_regions = {
        f'{name}/{zone}': available
        for name, region in regions.items()
        for zone, available in (region.zones or {}).items()
    }
    zones = {**inventory.zone_list, **of_regions}
    return {zone for zone, available in zones.items() if available}


def _with_zone(zones: dict[str, bool], zone: str, available: bool) -> dict[str, bool]:
    return {**zones, zone: available} if zone in zones else zones
