"""The zone placement policy, senlin.policy.zone_placement."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from typing_extensions import override

from placement_worker.cloud.ports import Cloud
from placement_worker.cloud.stated_places import Location
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.cluster import Node
from placement_worker.contract.model import BindRequest, CheckRequest, SupportStatus
from placement_worker.errors import CloudUnavailable
from placement_worker.planning.placement import plan_for
from placement_worker.planning.places import Place
from placement_worker.policies import (
    place_names,
    shared_placement,
    short_places,
    spread,
    zone_plans,
    zone_shares,
)
from placement_worker.policies.base import BindingOutcome, Outcome, Policy, State, skipped
from placement_worker.policies.normalizing import normalized
from placement_worker.policies.on_shortage import OnShortage
from placement_worker.policies.shared_placement import Task
from placement_worker.policies.spread import Spread
from placement_worker.policies.zone_plans import ZonePlans
from placement_worker.policies.zone_properties import (
    ZonePlacementProperties,
    ZonePlacementProperties11,
)
from placement_worker.policies.zone_shares import Share


class ZonePlacement(Policy[ZonePlacementProperties]):
    """Plan how many nodes each availability zone gains or loses.

    If region placement has planned, the share of each region is divided among the zones of that
    region. A check fails if Nova knows none of the zones, if none is available for a creation, or
    if more nodes are to leave than there are.
    """

    name = 'senlin.policy.zone_placement'
    versions = {'1.0': ZonePlacementProperties, '1.1': ZonePlacementProperties11}
    support_status = {
        '1.0': [SupportStatus('EXPERIMENTAL', '2016.04'), SupportStatus('SUPPORTED', '2016.10')],
        '1.1': [SupportStatus('SUPPORTED', '2026.11')],
    }
    priority = 300
    targets = shared_placement.TARGETS
    planner = staticmethod(plan_for)
    profile_types: ClassVar[frozenset[str]] = frozenset({'os.nova.server-1.0'})
    after = frozenset({'senlin.policy.region_placement'})
    exclusive = True

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
        size = state.size(request)
        task = Task.of(request, state, size)
        profile = shared_placement.profile_of_new_node(request)
        if profile and profile.zone:
            return _check_named(profile.zone, task)
        if task.skip_reason:
            return skipped(task.skip_reason)
        plans = ZonePlans(self.properties.zones, self.planner, task, self.spread, self.on_shortage)
        regions = state.action_data.change(size.kind).regions_of(size.count)
        if regions is None:
            region = zone_plans.region_of(task)
            shares, by_region = [plans.alone(region)], {}
            warnings = self.unknown([state.cloud.zones(region)])
        else:
            shares = plans.in_regions(regions)
            by_region = {'regions': regions, 'places': zone_shares.places(shares)}
            warnings = self.unknown_in(regions, state)
        return self._applied(task, shares, warnings, by_region)

    @override
    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        # An unavailable zone is known, too.
        search = place_names.Search(
            'availability zone', [zone.name for zone in self.properties.zones]
        )
        search.among(lambda: state.cloud.zones(None))
        regions = search.query(lambda: state.cloud.regions) if search.missing else None
        for region in sorted(regions or ()):
            search.among(partial(state.cloud.zones, region))
        return search.binding_outcome(request)

    @override
    def check_resources(self, cloud: Cloud) -> None:
        # Each zone must be available in some region.
        names = [zone.name for zone in self.properties.zones]
        usable: set[str] = set()
        for region in [None, *sorted(cloud.regions())]:
            known = {} if usable.issuperset(names) else cloud.zones(region)
            usable.update(name for name, is_available in known.items() if is_available)
        place_names.refuse_unusable('availability zone', 'zones', names, usable)

    def places(
        self, region: str | None, request: CheckRequest, state: State, *, by_region: bool
    ) -> list[Place]:
        """Return the zones of the spec with their state in one region, for a creation.

        :param by_region: whether a policy plans by region.
        """
        cloud = state.cloud

        def locate(node: Node) -> Location:
            return cloud.region_of(node) if by_region else None, cloud.zone_of(node)

        found = short_places.find(self.on_shortage, request.cluster.nodes, locate, state.now)
        zones = zone_plans.places_in(self.properties.zones, region, state)
        return short_places.of_zones(zones, region if by_region else None, found)

    def unknown_in(self, regions: Collection[str], state: State) -> list[str]:
        """Warn of the zones unknown to these regions, if no other region may know them."""
        try:
            others = set(state.cloud.regions) - set(regions)
        except CloudUnavailable:  # only a warning needs the response
            return []
        return [] if others else self.unknown([state.cloud.zones(name) for name in regions])

    def unknown(self, known: Collection[Collection[str]]) -> list[str]:
        """Warn of the zones of the spec that no region knows.

        :param known: the zones that each region knows.
        """
        unknown = [
            zone.name
            for zone in self.properties.zones
            if not any(zone.name in names for names in known)
        ]
        if not unknown:
            return []
        return [place_names.unknown('availability zone', unknown, set().union(*known))]

    def _applied(
        self,
        task: Task,
        shares: Sequence[Share],
        warnings: Sequence[str],
        by_region: Mapping[str, Any],
    ) -> Outcome:
        """Return the outcome of a plan, unless its skew is refused.

        :param by_region: the keys of a plan by region and zone, if a policy planned by region.
        :raises TooSkewed: the mode of `spread` is strict.
        """
        counts, retries = zone_shares.counts(shares), zone_shares.alternatives(shares)
        skews = zone_shares.skews(shares)
        texts = [*warnings, *skews, *zone_shares.warnings(shares)]
        entries = zone_shares.entries(shares) if task.size.kind == CREATION else []
        details = zone_shares.details(shares)
        if skews and self.spread:
            spread.check(self.spread, task.size, skews, details)
        plan = {'zones': counts, **by_region, **({'alternatives': retries} if retries else {})}
        return task.applied('zone', plan, entries, details, texts)


def _check_named(zone: str, task: Task) -> Outcome:
    """Leave a new node in the zone that its profile names, and record the zone."""
    patch = shared_placement.placed_node(task.request, task.state, [{'zone': zone}])
    reason = f'The profile asks for availability zone {zone}.'
    warnings = zone_plans.warnings_of_named(zone, task)
    return Outcome('SKIPPED', reason, nodes=patch, warnings=warnings)


def zones_to_use(request: CheckRequest) -> list[str] | None:
    """Return the zones of which a region needs one to get new nodes, or None if any region may.

    They matter if an enabled policy of this type is bound and supports the cluster's profile type.
    They are the zones of its spec, or the zone in the profile of the new node.
    """
    if request.cluster.profile.type not in ZonePlacement.profile_types:
        return None
    for binding in request.policies:
        if binding.enabled and binding.spec.type == ZonePlacement.name:
            profile = shared_placement.profile_of_new_node(request)
            if profile and profile.zone:
                zone, _, _ = profile.zone.partition(':')  # zone:host names a host of the zone
                return [zone]
            properties = normalized(binding.spec.properties, ZonePlacementProperties)
            return [zone['name'] for zone in properties['zones']]
    return None
