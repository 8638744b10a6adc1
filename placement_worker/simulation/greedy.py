"""The greedy rule of Senlin, for comparison.

The target of a place is its share of the resulting size by weight, up to its cap. The target is
rounded up when the cluster grows and down when it shrinks. A growing cluster fills the place with
the highest weight up to its target, then the next place. A shrinking cluster empties the place with
the lowest weight first. The plan fails if nodes remain.

:source: senlin/policies/zone_placement.py and region_placement.py of release 16.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from placement_worker.contract.action_data import CREATION
from placement_worker.planning.infeasible import infeasible
from placement_worker.planning.places import Held, Place, total
from placement_worker.planning.plan_rows import Plan, Row
from placement_worker.planning.sizing import Size
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.registry import Registry
from placement_worker.policies.zone_placement import ZonePlacement


def plan_for(size: Size, places: Sequence[Place], held: Held[str | None]) -> Plan:
    """Plan by the greedy rule; nodes outside the usable places do not count.

    The rule ignores protection, so protected nodes are treated like all others.

    :raises NoFeasiblePlan: the targets leave nodes over.
    """
    usable = [place for place in places if place.available]
    growing = size.kind == CREATION
    located = total([*held.groups, held.staying])
    current = [located[place.name] for place in usable]
    size_after = sum(current) + (size.count if growing else -size.count)
    weight = sum(place.weight for place in usable)
    ideals = [Fraction(size_after * place.weight, weight) for place in usable]
    room = [
        _target(place, ideal) - held if growing else held - math.floor(ideal)
        for place, ideal, held in zip(usable, ideals, current, strict=True)
    ]
    order = sorted(range(len(usable)), key=lambda i: usable[i].weight, reverse=growing)
    moved = _filled(room, order, size.count)
    if sum(moved) < size.count:
        taken = {place.name: moved[i] for i, place in enumerate(usable)}
        rows = [(one.name, located[one.name], one.cap, one.obstacle) for one in places]
        raise infeasible(size.count, taken, rows)
    return Plan(tuple(map(_row, usable, current, ideals, moved, [growing] * len(usable))))


def _filled(room: Sequence[int], order: Sequence[int], count: int) -> list[int]:
    """Return the number of nodes per place if each takes what it has room for, in this order."""
    moved = [0] * len(room)
    for i in order:
        moved[i] = max(0, min(room[i], count))
        count -= moved[i]
    return moved


def _target(place: Place, ideal: Fraction) -> int:
    target = math.ceil(ideal)
    return target if place.cap < 0 else min(target, place.cap)


def _row(place: Place, current: int, ideal: Fraction, moved: int, growing: bool) -> Row:
    final = current + moved if growing else current - moved
    return Row(place.name, place.weight, place.cap, True, current, float(ideal), moved, final, '')


class GreedyZonePlacement(ZonePlacement):
    """Zone placement by the greedy rule, which knows neither skew nor shortages."""

    spread = None
    backoff = None
    planner = staticmethod(plan_for)


class GreedyRegionPlacement(RegionPlacement):
    """Region placement by the greedy rule, which knows neither skew nor shortages."""

    spread = None
    backoff = None
    planner = staticmethod(plan_for)


def registry(installed: Registry) -> Registry:
    """Return the installed policy types, with the greedy rule in the placement policies."""
    greedy = {
        GreedyZonePlacement.name: GreedyZonePlacement,
        GreedyRegionPlacement.name: GreedyRegionPlacement,
    }
    return Registry(
        (name, greedy.get(policy.name, policy)) for name, policy in installed.types.items()
    )
