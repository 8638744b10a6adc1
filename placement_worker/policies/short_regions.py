"""The regions that are short of capacity, which may depend on the zones to plan."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.cloud.stated_places import Location
from placement_worker.contract.cluster import Node
from placement_worker.contract.model import CheckRequest
from placement_worker.planning.places import Place
from placement_worker.policies import region_places, short_places, zone_placement
from placement_worker.policies.base import State
from placement_worker.policies.on_shortage import OnShortage


def with_shortages(
    regions: Sequence[Place], on_shortage: OnShortage | None, request: CheckRequest, state: State
) -> Sequence[Place]:
    """Return the regions of a creation with their shortages."""
    zones, cloud = zone_placement.zones_to_use(request) or [], state.cloud

    def locate(node: Node) -> Location:
        return cloud.region_of(node), cloud.zone_of(node) if zones else None

    found = short_places.find(on_shortage, request.cluster.nodes, locate, state.now)
    if not found:
        return regions
    return [
        short_places.of_region(region, region_places.open_zones(region, zones, state), found)
        for region in regions
    ]


def alternatives(retries: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return the regions of the plan with the regions to try next, as the engine reads them."""
    return [
        {'place': {'region_name': name}, 'retry': [{'region_name': other} for other in others]}
        for name, others in retries.items()
    ]
