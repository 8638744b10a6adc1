"""Senlin's greedy placement rule, to compare with the rule of this package.

The greedy rule knows neither skew nor shortages nor protected nodes. Source: zone_placement.py and
region_placement.py in senlin/policies of release 16.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter

from placement_worker.contract.action_data import CREATION
from placement_worker.planning.placement import Distribution, Row, infeasible
from placement_worker.planning.places import Held, Place
from placement_worker.planning.sizing import Size
from placement_worker.policies.base import older_version
from placement_worker.policies.placement_properties import (
    AS_IN_1_0,
    RegionPlacementProperties,
    ZonePlacementProperties,
)
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.registry import Registry
from placement_worker.policies.zone_placement import ZonePlacement


def greedy_registry(installed: Registry) -> Registry:
    """Return the installed policy types, with the greedy rule in the placement policies."""
    greedy = {policy.name: policy for policy in (_GreedyZonePlacement, _GreedyRegionPlacement)}
    return Registry((name, greedy.get(kind.name, kind)) for name, kind in installed.types.items())


def _plan(size: Size, places: Sequence[Place], held: Held[str | None]) -> Distribution:
    """Plan by the greedy rule; nodes outside the usable places do not count.

    The target of a place is its share of the resulting size by weight, up to its cap. The target
    is rounded up when the cluster grows and down when it shrinks. A growing cluster fills the place
    with the highest weight up to its target, then the next place. A shrinking cluster empties the
    place with the lowest weight first.

    :raises NoFeasiblePlan: the targets leave nodes over.
    """
    usable = [place for place in places if place.available]
    growing = size.kind == CREATION
    current = held.total
    in_usable = sum(current[place.name] for place in usable)
    size_after = in_usable + size.count if growing else in_usable - size.count
    weight = sum(place.weight for place in usable)
    ideals = {place.name: Fraction(size_after * place.weight, weight) for place in usable}
    moved = dict.fromkeys(ideals, 0)
    left = size.count
    for place in sorted(usable, key=attrgetter('weight'), reverse=growing):
        room = _room(place, current[place.name], ideals[place.name], growing)
        moved[place.name] = max(0, min(room, left))
        left -= moved[place.name]
    if left:
        rows = [(place.name, current[place.name], place.cap, place.obstacle) for place in places]
        raise infeasible(size.count, moved, rows)
    return Distribution(
        tuple(
            Row(
                name=place.name,
                weight=place.weight,
                cap=place.cap,
                usable=place.available,
                current=current[place.name],
                ideal=float(ideals.get(place.name, 0)),
                planned=moved.get(place.name, 0),
                final=current[place.name] + moved.get(place.name, 0) * (1 if growing else -1),
                note='',
            )
            for place in places
        )
    )


def _room(place: Place, current: int, ideal: Fraction, growing: bool) -> int:
    if not growing:
        return current - math.floor(ideal)
    target = math.ceil(ideal)
    return (target if place.cap < 0 else min(target, place.cap)) - current


_ZoneProperties = older_version(ZonePlacementProperties, AS_IN_1_0)
_RegionProperties = older_version(RegionPlacementProperties, AS_IN_1_0)


class _GreedyZonePlacement(ZonePlacement):
    planner = staticmethod(_plan)

    def __init__(self, properties: ZonePlacementProperties) -> None:
        super().__init__(_ZoneProperties(places=properties.places))


class _GreedyRegionPlacement(RegionPlacement):
    planner = staticmethod(_plan)

    def __init__(self, properties: RegionPlacementProperties) -> None:
        super().__init__(_RegionProperties(places=properties.places))
