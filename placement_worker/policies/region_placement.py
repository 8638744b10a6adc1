"""The region placement policy, senlin.policy.region_placement."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.model import BindRequest, CheckRequest, SupportStatus
from placement_worker.planning import sizing
from placement_worker.planning.infeasible import infeasible
from placement_worker.planning.interleaving import interleave
from placement_worker.planning.placement import plan_for
from placement_worker.planning.places import NO_CAP, Located, Place
from placement_worker.planning.plan_rows import Plan
from placement_worker.planning.sizing import Size
from placement_worker.planning.skew import Skew
from placement_worker.policies import (
    cordoned_places,
    place_names,
    region_places,
    shared_placement,
    short_places,
    short_regions,
    spread,
    zone_placement,
)
from placement_worker.policies.base import BindingOutcome, Outcome, Policy, State, skipped
from placement_worker.policies.on_shortage import OnShortage
from placement_worker.policies.region_properties import (
    RegionPlacementProperties,
    RegionPlacementProperties11,
)
from placement_worker.policies.shared_placement import Task
from placement_worker.policies.spread import Spread
from placement_worker.policies.zone_plans import NO_ZONE

NO_REGION = 'No region is found usable.'


class RegionPlacement(Policy[RegionPlacementProperties]):
    """Plan how many nodes each region gains or loses.

    A check fails if Keystone knows none of the regions, if zone placement is bound and finds no
    usable zone for a creation in any of them, if the caps leave too little room, or if more nodes
    are to leave than there are.
    """

    name = 'senlin.policy.region_placement'
    versions = {'1.0': RegionPlacementProperties, '1.1': RegionPlacementProperties11}
    support_status = {
        '1.0': [SupportStatus('EXPERIMENTAL', '2016.04'), SupportStatus('SUPPORTED', '2016.10')],
        '1.1': [SupportStatus('SUPPORTED', '2026.11')],
    }
    priority = 200
    targets = shared_placement.TARGETS
    exclusive = True
    planner = staticmethod(plan_for)

    @cached_property
    def spread(self) -> Spread | None:
        """The tolerated skew; None for any."""
        return self.properties.spread

    @cached_property
    def on_shortage(self) -> OnShortage | None:
        """The reaction to a lack of capacity; None for nothing."""
        return self.properties.redistribution

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        task = Task.of(request, state, state.size(request))
        profile = shared_placement.profile_of_new_node(request)
        if profile and profile.region:
            return self._check_named(request, state, profile.region)
        if task.skip_reason:
            return skipped(task.skip_reason)
        return self._planned(task)

    def _planned(self, task: Task) -> Outcome:
        """Plan by region, and return the outcome."""
        request, state, size = task.request, task.state, task.size
        nodes = sizing.current_nodes(request.action, request.cluster)
        groups, staying = task.in_groups(
            nodes, state.cloud.regions_of, without_failed=self.on_shortage is not None
        )
        places = self._places(request, size, state)
        if self.on_shortage and size.kind == CREATION:
            places = short_regions.with_shortages(places, self.on_shortage, request, state)
        plan = self.planner(size, places, groups, staying)
        skew: Skew | None = None
        if self.spread:
            skew = spread.measured(self.spread, size, places, plan, groups, staying)
        retries: Mapping[str, Sequence[str]] = {}
        if self.on_shortage:
            retries = short_places.alternatives(self.spread, size, places, plan)
        return self._applied(task, plan, _warnings(places, staying), skew, retries)

    @override
    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        search = place_names.Search('region', [region.name for region in self.properties.regions])
        search.among(lambda: state.cloud.regions)
        return search.binding_outcome(request)

    @override
    def check_resources(self, cloud: Cloud) -> None:
        names = [region.name for region in self.properties.regions]
        place_names.refuse_unusable('region', 'regions', names, cloud.regions())

    def _unknown(self, known: Collection[str]) -> list[str]:
        """Return the regions of the spec that are not among the known ones."""
        return [region.name for region in self.properties.regions if region.name not in known]

    def _applied(
        self,
        task: Task,
        plan: Plan,
        warnings: Sequence[str],
        skew: Skew | None,
        retries: Mapping[str, Sequence[str]],
    ) -> Outcome:
        """Return the outcome of a plan, unless its skew is refused.

        :param skew: None if it is tolerated.
        :param retries: the planned regions with the regions to try next.
        :raises TooSkewed: the mode of `spread` is strict.
        """
        details, skews = _details(plan, skew), [skew.explained('region')] if skew else []
        if skews and self.spread:
            spread.check(self.spread, task.size, skews, details)
        entries = _entries(plan) if task.size.kind == CREATION else []
        alternatives = short_regions.alternatives(retries)
        planned = {'regions': plan.counts, **({'alternatives': alternatives} if retries else {})}
        texts = [*self.unknown(task.state), *skews, *warnings]
        return task.applied('region', planned, entries, details, texts)

    def _check_named(self, request: CheckRequest, state: State, region: str) -> Outcome:
        """Leave a new node in the region that its profile names, and record the region.

        :raises NoFeasiblePlan: the region is full; an unlisted region has no cap.
        """
        cap = next((one.cap for one in self.properties.regions if one.name == region), NO_CAP)
        nodes = sizing.current_nodes(request.action, request.cluster)
        held = state.cloud.regions_of(nodes)[region]
        if cap != NO_CAP and held >= cap:
            raise infeasible(1, {}, [(region, held, cap, '')])
        patch = shared_placement.placed_node(request, state, [{'region_name': region}])
        cordon = cordoned_places.of_region(region, state)
        warnings = cordoned_places.warn_of_named(f'region {region}', cordon)
        reason = f'The profile asks for region {region}.'
        return Outcome('SKIPPED', reason, nodes=patch, warnings=warnings)

    def places(self, request: CheckRequest, state: State) -> Sequence[Place]:
        """Return the regions of the spec, with those where nodes can be created as available.

        :raises NoUsablePlace: no node can be created in any of them.
        """
        regions = self._places(request, Size(CREATION, 1), state)
        return short_regions.with_shortages(regions, self.on_shortage, request, state)

    def unknown(self, state: State) -> list[str]:
        """Return a warning of the regions that the cloud does not know, or none."""
        known = state.cloud.regions
        names = self._unknown(known)
        return [place_names.unknown('region', names, known)] if names else []

    def _places(self, request: CheckRequest, size: Size, state: State) -> Sequence[Place]:
        known = state.cloud.regions
        regions = [
            Place(
                one.name, one.weight, one.cap, known=one.name in known, available=one.name in known
            )
            for one in self.properties.regions
        ]
        if not any(region.known for region in regions):
            names = [region.name for region in regions]
            raise place_names.none_usable(NO_REGION, 'region', 'regions', names, known)
        if state.cordons:
            regions = cordoned_places.close_regions(regions, state)
        if size.kind != CREATION:
            return regions
        region_places.check_any_open(regions, NO_REGION)
        zones = zone_placement.zones_to_use(request)
        if zones is None:
            return regions
        regions = [region_places.with_zones(region, zones, state) for region in regions]
        if not any(region.available for region in regions):
            cordoned_places.check_cordons(regions, NO_ZONE)
            raise region_places.no_zone(regions, zones, state, NO_ZONE)
        profile = shared_placement.profile_of_new_node(request)
        if profile and profile.zone:  # a cordon does not refuse a zone that the user names
            return regions
        regions = [region_places.without_cordoned_zones(region, zones, state) for region in regions]
        region_places.check_any_open(regions, NO_ZONE)
        return regions


def _warnings(places: Sequence[Place], staying: Located) -> list[str]:
    """Return the sentences about regions in which cordons or shortages limit the plan."""
    not_emptied = cordoned_places.not_emptied(places, staying, 'region') if staying else []
    return [*not_emptied, *short_places.warnings(places, 'region')]


def _entries(plan: Plan) -> list[dict[str, str]]:
    """Return the region of each node to create, interleaved over the regions."""
    order = interleave({row.name: row.planned for row in plan.rows})
    return [{'region_name': name} for name in order]


def _details(plan: Plan, skew: Skew | None) -> dict[str, Any]:
    rows = {'regions': shared_placement.rows(plan.rows), 'unplaced': plan.unplaced}
    return {**rows, 'skewed': skew.details} if skew else rows
