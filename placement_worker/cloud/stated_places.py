"""Region and zone of nodes according to the request."""

from collections.abc import Iterable

from placement_worker.contract.cluster import Node

Location = tuple[str | None, str | None]
"""Region and zone; None stands for an unknown one."""


def stated_places(nodes: Iterable[Node]) -> list[Location]:
    """Return `stated_place` of each node; equal locations share one tuple.

    Names that an earlier node has stated are valid, so they are not checked again. This halves the
    time.
    """
    known: dict[Location, Location] = {}
    places = []
    for node in nodes:
        placement = node.data.get('placement')
        region = zone = None
        if isinstance(placement, dict):
            region, zone = placement.get('region_name'), placement.get('zone')
        if region is None and node.profile is not None:
            region = node.profile.region
        if zone is None and node.details is not None:
            zone = node.details.availability_zone
        try:
            places.append(known[region, zone])
        except (KeyError, TypeError):  # TypeError: the value cannot be a key of a dictionary
            place = stated_place(node)
            places.append(known.setdefault(place, place))
    return places


def stated_place(node: Node) -> Location:
    """Return region and zone according to the request, except the zone of a profile."""
    placement = node.data.get('placement')
    if not isinstance(placement, dict):
        placement = {}
    region, zone = _name(placement.get('region_name')), _name(placement.get('zone'))
    if region is None and node.profile is not None:
        region = node.profile.region
    return region, zone or (node.details.availability_zone or None if node.details else None)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
