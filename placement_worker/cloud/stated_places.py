"""Region and zone of nodes according to the request."""

from collections.abc import Mapping

from placement_worker.contract.model import Node

Location = tuple[str | None, str | None]
"""Region and zone; None stands for an unknown one."""


def stated_place(node: Node) -> Location:
    """Return region and zone according to the request, except the zone of a profile.

    A node that was created with ``zone:host`` has both in its placement; only the zone is a place.
    """
    placement = node.data.get('placement')
    region = zone = None
    if isinstance(placement, dict):
        region, zone = placement.get('region_name'), placement.get('zone')
    if not (isinstance(region, str) and region):
        region = node.profile.region if node.profile else None
    if not (isinstance(zone, str) and zone):
        zone = node.details.availability_zone or None if node.details else None
    return region, without_host(zone) if zone else None


def without_host(zone: str) -> str:
    """Return the zone of ``zone:host``, which asks Nova for a host of the zone."""
    return zone.partition(':')[0]


def in_words(place: Location) -> str:
    """Return region and zone, as far as they are known."""
    return ' '.join(filter(None, place)) or 'unknown'


def counts_in_words(places: Mapping[Location, int]) -> list[str]:
    """Return the numbers of nodes by place, e.g. "RegionOne az1: 2"."""
    return [f'{name}: {nodes}' for name, nodes in sorted((in_words(p), places[p]) for p in places)]
