"""The region placement policy, senlin.policy.region_placement."""

from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.contract.model import BindRequest, CheckRequest, SupportStatus
from placement_worker.planning.placement import infeasible
from placement_worker.planning.places import NO_CAP
from placement_worker.policies.base import BindingOutcome, Outcome, State, older_version, skipped
from placement_worker.policies.placement_properties import AS_IN_1_0, RegionPlacementProperties
from placement_worker.policies.resolved_places import profile_of_new_node
from placement_worker.policies.shared_placement import PlacementPolicy, PlaceSearch, RequestedChange


class RegionPlacement(PlacementPolicy[RegionPlacementProperties]):
    """Plan how many nodes each region gains or loses.

    A check fails if Keystone knows none of the regions, if zone placement is bound and finds no
    usable zone for a creation in any of them, if the caps leave too little room, or if more nodes
    are to leave than there are.
    """

    name = 'senlin.policy.region_placement'
    versions = {
        '1.0': older_version(RegionPlacementProperties, AS_IN_1_0),
        '1.1': RegionPlacementProperties,
    }
    support_status = {
        '1.0': [SupportStatus('EXPERIMENTAL', '2016.04'), SupportStatus('SUPPORTED', '2016.10')],
        '1.1': [SupportStatus('SUPPORTED', '2026.11')],
    }
    priority = 200
    level = noun = 'region'

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        change = RequestedChange.for_check(request, state)
        profile = profile_of_new_node(request)
        if profile and profile.region:
            return self._check_named(change, profile.region)
        if change.skip_reason:
            return skipped(change.skip_reason)
        located = state.cloud.by_region(self._counted_nodes(change))
        held = change.held(located)
        places = state.places.checked_regions(change.size.kind, held.total)
        plan = self._plan_level(change.size, places, held)
        warnings = self.warnings_of_unknown([state.cloud.regions])
        return self._applied(change, [plan], warnings, located.get(None, ()))

    @override
    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        search = PlaceSearch(self.noun, self.properties.places)
        search.search_in(lambda: state.cloud.regions)
        return search.binding_outcome(request)

    @override
    def check_resources(self, cloud: Cloud) -> None:
        self._refuse_unusable(cloud.regions())

    def _check_named(self, change: RequestedChange, region: str) -> Outcome:
        cap = next((place.cap for place in self.properties.places if place.name == region), NO_CAP)
        state = change.state
        held = state.cloud.regions_of(self._counted_nodes(change))[region]
        if cap != NO_CAP and held >= cap:
            raise infeasible(1, {}, [(region, held, cap, '')])
        cordon = state.places.cordon_of(region, None)
        return self._named_by_profile(change, region, 'region_name', cordon)
