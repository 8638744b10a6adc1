"""The places that are short of capacity, found in the failed nodes of a request."""

import datetime
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import structs

from placement_worker.cloud.stated_places import Location
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.cluster import Node
from placement_worker.contract.placement_data import Placement
from placement_worker.formats.text import counted, escaped, shortened
from placement_worker.planning.alternatives import alternatives as planned_alternatives
from placement_worker.planning.capacity_errors import means_no_capacity
from placement_worker.planning.places import Place
from placement_worker.planning.plan_rows import Plan
from placement_worker.planning.shortage import Shortage, failed_nodes, shortage
from placement_worker.planning.sizing import Size
from placement_worker.policies.on_shortage import OnShortage
from placement_worker.policies.spread import Spread

Shortages = Mapping[Location, Shortage]
"""Region and zone -> the shortage there; None stands for a region or zone that does not matter."""
NO_SHORTAGES: Shortages = MappingProxyType({})


def find(
    on_shortage: OnShortage | None,
    nodes: Sequence[Node],
    locate: Callable[[Node], Location],
    now: datetime.datetime,
) -> Shortages:
    """Return the shortages that the failed nodes prove.

    A node whose data have no placement proves nothing: no policy chose its place.

    :param on_shortage: the delays; None if shortages have no effect.
    :param locate: returns the location of a node, as the keys of the result have it.
    """
    if on_shortage is None:
        return NO_SHORTAGES
    failed_at: defaultdict[Location, list[datetime.datetime | None]] = defaultdict(list)
    for node in failed_nodes(nodes):
        if means_no_capacity(node.status_reason) and Placement.of(node.data.get('placement')):
            failed_at[locate(node)].append(node.updated_at)
    if not failed_at:
        return NO_SHORTAGES
    created_at = _created_at(nodes, locate)
    found = {
        location: shortage(times, created_at[location], on_shortage.backoff, now)
        for location, times in failed_at.items()
    }
    return {location: one for location, one in found.items() if one}


def of_zones(zones: Sequence[Place], region: str | None, shortages: Shortages) -> list[Place]:
    """Return the zones of a region with their shortages."""
    return [structs.replace(zone, shortage=shortages.get((region, zone.name))) for zone in zones]


def of_region(region: Place, zones: Sequence[str], shortages: Shortages) -> Place:
    """Return a region with its shortage.

    A region is short of capacity if it refused a node without a zone, or if all zones that nodes
    may be created in are. The zone whose next probe comes first then counts.

    :param zones: the available zones, if a policy plans by zone, else none.
    """
    found = shortages.get((region.name, None))
    of_zones = [shortages.get((region.name, zone)) for zone in zones]
    known = [one for one in of_zones if one]
    if found is None and known and len(known) == len(of_zones):
        found = min(known, key=lambda one: one.until)
    return structs.replace(region, shortage=found)


def alternatives(
    spread: Spread | None, size: Size, places: Sequence[Place], plan: Plan | None
) -> Mapping[str, Sequence[str]]:
    """Return the planned places of a creation with the places to try next.

    Strict spread allows none: a retry might exceed its skew.
    """
    strict = spread is not None and spread.mode == 'strict'
    if plan is None or size.kind != CREATION or strict:
        return {}
    return planned_alternatives(plan, [place for place in places if place.known])


def warnings(places: Sequence[Place], kind: str, region: str | None = None) -> list[str]:
    """Return a sentence for each place in which a shortage limits a creation.

    :param kind: `zone` or `region`.
    :param region: the region of the zones, if a policy planned by region.
    """
    of_region = f' of region {escaped(shortened(region))}' if region else ''
    return [
        f'{kind.capitalize()} {escaped(shortened(place.name))}{of_region} is {place.shortage} '
        f'({_attempts(place.shortage)})'
        for place in places
        if place.available and place.shortage
    ]


def _attempts(found: Shortage) -> str:
    if found.attempts:
        return counted(found.attempts, 'failed attempt')
    return 'failed at an unknown time or in the future; check the clock of the engine'


def _created_at(
    nodes: Sequence[Node], locate: Callable[[Node], Location]
) -> Mapping[Location, list[datetime.datetime]]:
    """Return the times at which the nodes of each location were created."""
    found: defaultdict[Location, list[datetime.datetime]] = defaultdict(list)
    for node in nodes:
        if node.created_at is not None:
            found[locate(node)].append(node.created_at)
    return found
