"""The zone placement policy, senlin.policy.zone_placement.

A zone may be unavailable, cordoned or unknown in one region and open in another. After region
placement, zones are therefore planned per region.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from msgspec import structs
from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.cloud.snapshot import without_host
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, Location
from placement_worker.contract.model import BindRequest, CheckRequest, Node, SupportStatus
from placement_worker.errors import CloudUnavailable
from placement_worker.planning.places import Held, raise_if_only_cordons_close
from placement_worker.planning.sizing import Size
from placement_worker.policies.base import BindingOutcome, Outcome, State, older_version, skipped
from placement_worker.policies.place_names import none_usable
from placement_worker.policies.placement_properties import AS_IN_1_0, ZonePlacementProperties
from placement_worker.policies.resolved_places import NO_ZONE, profile_of_new_node
from placement_worker.policies.shared_placement import (
    LevelPlan,
    PlacementPolicy,
    PlaceSearch,
    RequestedChange,
)

N = TypeVar('N')


class ZonePlacement(PlacementPolicy[ZonePlacementProperties]):
    """Plan how many nodes each availability zone gains or loses.

    If region placement has planned, the share of each region is divided among its zones. A check
    fails if Nova knows none of the zones, if none is available for a creation, or if more nodes are
    to leave than there are.
    """

    name = 'senlin.policy.zone_placement'
    versions = {
        '1.0': older_version(ZonePlacementProperties, AS_IN_1_0),
        '1.1': ZonePlacementProperties,
    }
    support_status = {
        '1.0': [SupportStatus('EXPERIMENTAL', '2016.04'), SupportStatus('SUPPORTED', '2016.10')],
        '1.1': [SupportStatus('SUPPORTED', '2026.11')],
    }
    priority = 300
    profile_types: ClassVar[frozenset[str]] = frozenset({'os.nova.server-1.0'})
    after = frozenset({'senlin.policy.region_placement'})
    level, noun = 'zone', 'availability zone'

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        change = RequestedChange.for_check(request, state)
        profile = profile_of_new_node(request)
        if profile and profile.zone:
            cordon = state.places.cordon_of(_region_of(change), without_host(profile.zone))
            return self._named_by_profile(change, profile.zone, 'zone', cordon)
        if change.skip_reason:
            return skipped(change.skip_reason)
        size = change.size
        nodes = self._counted_nodes(change)
        count_by_region = state.action_data.change(size.kind).checked_regions(size.count)
        if count_by_region is None:
            return self._plan_without_regions(change, nodes)
        located = state.cloud.by_place(nodes, regions=count_by_region)
        held = change.held(located)
        plans = [
            self._plan_of_region(
                region, Size(size.kind, count), _held_in_region(region, held), state, by_region=True
            )
            for region, count in sorted(count_by_region.items())
            if count
        ]
        divided = {plan.region for plan in plans if plan.distribution}
        without_zone = [node for region in divided for node in located.get((region, None), ())]
        warnings = self.warnings_of_zones_in_no_region(count_by_region, state)
        extra_keys = {'regions': count_by_region, 'places': _counts_by_place(plans)}
        return self._applied(change, plans, warnings, without_zone, extra_keys)

    @override
    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        # Attaching needs known zones; they need not be available.
        search = PlaceSearch(self.noun, self.properties.places)
        search.search_in(lambda: state.cloud.zones(None))
        regions = search.names_of(lambda: state.cloud.regions) if search.missing else ()
        for region in sorted(regions):
            search.search_in(partial(state.cloud.zones, region))
        return search.binding_outcome(request)

    @override
    def check_resources(self, cloud: Cloud) -> None:
        # Each zone must be available in some region.
        names = [zone.name for zone in self.properties.places]
        usable: set[str] = set()
        for region in [None, *sorted(cloud.regions())]:
            if usable.issuperset(names):
                break
            known = cloud.zones(region)
            usable.update(name for name, is_available in known.items() if is_available)
        self._refuse_unusable(usable)

    def warnings_of_zones_in_no_region(self, regions: Collection[str], state: State) -> list[str]:
        """Return warnings of zones in no region; none if one outside the plan may have them."""
        try:
            further_regions = set(state.cloud.regions) - set(regions)
        except CloudUnavailable:  # only a warning needs the response
            return []
        if further_regions:
            return []
        return self.warnings_of_unknown([state.cloud.zones(region) for region in regions])

    def _plan_without_regions(self, change: RequestedChange, nodes: Sequence[Node]) -> Outcome:
        cloud, region = change.state.cloud, _region_of(change)
        if change.request.action.action == actions.NODE_CREATE:
            # Only nodes of the new node's region count.
            nodes = cloud.in_region(region, nodes)
        located = cloud.by_zone(nodes)
        held = change.held(located)
        plan = self._plan_of_region(region, change.size, held, change.state, by_region=False)
        known = cloud.zones(region)
        if plan.distribution is None:
            names = [zone.name for zone in self.properties.places]
            raise none_usable(NO_ZONE, self.noun, 'zones', names, known)
        return self._applied(
            change, [plan], self.warnings_of_unknown([known]), located.get(None, ())
        )

    def _plan_of_region(
        self,
        region: str | None,
        size: Size,
        held: Held[str | None],
        state: State,
        *,
        by_region: bool,
    ) -> LevelPlan:
        """:param by_region: a policy planned by region; only such a plan names its region."""
        zones = state.places.zones(size.kind, region, by_region=by_region)
        named_region = region if by_region else None
        if any(zone.available if size.kind == CREATION else zone.known for zone in zones):
            return self._plan_level(size, zones, held, named_region)
        raise_if_only_cordons_close(zones, NO_ZONE)
        return LevelPlan('zone', size, held, distribution=None, region=named_region)


def _region_of(change: RequestedChange) -> str | None:
    """Return the region that the new node or else the profile names; None for the home region."""
    action, state = change.request.action, change.state
    if action.action != actions.NODE_CREATE or action.node is None:
        return change.request.cluster.profile.region
    # An earlier policy may have placed the node.
    new = structs.replace(action.node, data=state.node_data(action.node))
    return state.cloud.named_region_of(new)


def _held_in_region(region: str, held: Held[Location]) -> Held[str | None]:
    def by_zone(by_place: Mapping[Location, N]) -> dict[str | None, N]:
        return {
            zone: value for (its_region, zone), value in by_place.items() if its_region == region
        }

    groups = [by_zone(group) for group in held.groups]
    return Held(groups, by_zone(held.staying), by_zone(held.ranks))


def _counts_by_place(plans: Sequence[LevelPlan]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for plan in plans:
        counts = (
            plan.distribution.counts.items() if plan.distribution else [(None, plan.size.count)]
        )
        entries += [{**plan.place(zone), 'count': count} for zone, count in counts]
    return entries
