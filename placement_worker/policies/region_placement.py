"""The region placement policy.

:source: seed 004; spec.md 3.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from placement_worker.cloud import Cloud
from placement_worker.errors import NoUsablePlace
from placement_worker.model import CheckRequest
from placement_worker.planning import sizing
from placement_worker.planning.dealing import deal
from placement_worker.planning.placement import NO_CAP, Place
from placement_worker.planning.sizing import CREATION
from placement_worker.policies import placement
from placement_worker.policies.base import Outcome, Policy, State, skipped


class Region(Struct, frozen=True, forbid_unknown_fields=True):
    """A region that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of a region.')]
    weight: Annotated[int, Meta(ge=1, le=placement.HEAVIEST, description='Relative weight of the region.')] = 100
    cap: Annotated[
        int, Meta(ge=NO_CAP, le=placement.HEAVIEST, description='Maximum number of nodes in this region; -1: no cap.')
    ] = NO_CAP


class RegionPlacementProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.region_placement-1.0."""

    regions: Annotated[list[Region], Meta(min_length=1, description='Regions to choose from.')]

    def __post_init__(self) -> None:
        placement.refuse_repeated('regions', [region.name for region in self.regions])


class RegionPlacement(Policy[RegionPlacementProperties]):
    """Say how many nodes each region gains or loses."""

    name = 'senlin.policy.region_placement'
    versions = {'1.0': RegionPlacementProperties}
    priority = 200
    targets = placement.TARGETS
    planner = staticmethod(placement.plan_for)

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Plan by region.

        :raises NoUsablePlace: Keystone knows none of the regions.
        :raises NoFeasiblePlan: the caps leave too little room, or more nodes are to leave than there are.
        """
        profile = placement.profile_of_new_node(request)
        if profile and profile.region:
            return skipped(f'The profile asks for region {profile.region}.')
        size = state.size(request)
        if not size.count:
            return skipped(size.explained(placement.NOTHING_TO_DO))
        nodes = sizing.members(request.action, request.cluster)
        groups = placement.in_groups(size, nodes, state.cloud.regions_of)
        plan = self.planner(size, self._places(state), groups)
        data = placement.decided(state.data, size, regions=plan.counts)
        details = {'regions': [placement.row(row) for row in plan.rows], 'unplaced': plan.unplaced}
        reason = placement.summary(size, 'region', len(plan.counts))
        if size.kind != CREATION:
            return Outcome('APPLIED', reason, data=data, details=details)
        entries = [{'region_name': name} for name in deal({row.name: row.planned for row in plan.rows})]
        return Outcome(
            'APPLIED',
            reason,
            data=placement.with_placements(data, entries),
            nodes=placement.placed_node(request, state, entries[0]),
            details=details,
        )

    def check_resources(self, cloud: Cloud) -> None:
        """As `Policy.check_resources`."""
        known = cloud.regions()
        placement.refuse_unusable('region', [r.name for r in self.properties.regions if r.name not in known])

    def _places(self, state: State) -> Sequence[Place]:
        regions = state.cloud.regions
        if not any(region.name in regions for region in self.properties.regions):
            raise NoUsablePlace('No region is found usable.')
        return [
            Place(
                region.name, region.weight, region.cap, known=region.name in regions, available=region.name in regions
            )
            for region in self.properties.regions
        ]
