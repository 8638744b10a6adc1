"""The zone placement policy; inside the regions that region placement has chosen, where it is bound
too.

:source: seeds 000 and 001; spec.md 3.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct, structs

from placement_worker.cloud.ports import Cloud
from placement_worker.cloud.snapshot import Location
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.model import BindRequest, CheckRequest, Node, SupportStatus
from placement_worker.errors import CloudUnavailable, NoUsablePlace
from placement_worker.planning import sizing
from placement_worker.planning.interleaving import interleave_groups
from placement_worker.planning.placement import NO_CAP, Located, Place, Plan, Row
from placement_worker.planning.sizing import Size
from placement_worker.policies import names, shared_placement
from placement_worker.policies.base import BindingOutcome, Outcome, Policy, State, skipped
from placement_worker.policies.normalizing import normalized

NO_ZONE = 'No availability zone found available.'
NO_USABLE_ZONE = 'no usable zone'


class Zone(Struct, frozen=True, forbid_unknown_fields=True):
    """An availability zone that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of an availability zone.')]
    weight: Annotated[
        int,
        Meta(
            ge=1,
            le=shared_placement.HEAVIEST,
            description='Relative weight of the availability zone.',
        ),
    ] = 100


class ZonePlacementProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.zone_placement-1.0."""

    zones: Annotated[
        list[Zone], Meta(min_length=1, description='Availability zones to choose from.')
    ]

    def __post_init__(self) -> None:
        shared_placement.refuse_repeated('zones', [zone.name for zone in self.zones])


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a size that one region takes; `plan` is None if no zone is usable there.

    `region` is None where no policy planned by region; `held` is the number of nodes that are there
    now.
    """

    region: str | None
    size: Size
    held: int
    plan: Plan | None


class ZonePlacement(Policy[ZonePlacementProperties]):
    """Say how many nodes each availability zone gains or loses."""

    name = 'senlin.policy.zone_placement'
    versions = {'1.0': ZonePlacementProperties}
    support_status = {
        '1.0': [SupportStatus('EXPERIMENTAL', '2016.04'), SupportStatus('SUPPORTED', '2016.10')],
    }
    priority = 300
    targets = shared_placement.TARGETS
    planner = staticmethod(shared_placement.plan_for)
    profile_types: ClassVar[frozenset[str]] = frozenset({'os.nova.server-1.0'})
    after = frozenset({'senlin.policy.region_placement'})
    exclusive = True

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Plan by zone.

        :raises NoUsablePlace: Nova knows none of the zones, or for a creation none is available.
        :raises NoFeasiblePlan: more nodes are to leave than there are.
        """
        size = state.size(request)
        profile = shared_placement.profile_of_new_node(request)
        if profile and profile.zone:
            reason = f'The profile asks for availability zone {profile.zone}.'
            patch = shared_placement.placed_node(request, state, {'zone': profile.zone})
            return Outcome('SKIPPED', reason, nodes=patch)
        if not size.count:
            return skipped(size.explained(shared_placement.NOTHING_TO_DO))
        nodes = sizing.current_nodes(request.action, request.cluster)
        regions = state.action_data.change(size.kind).regions_of(size.count)
        if regions is not None:
            shares = self._plan_in_regions(regions, size, nodes, state)
            outcome = self._applied(
                request, state, size, shares, regions=regions, places=_places(shares)
            )
            return replace(outcome, warnings=self._unknown_in(regions, state))
        region, beside = _alone(request, state, nodes)
        groups = shared_placement.in_groups(size, beside, state.cloud.zones_of)
        plan = self._plan(region, size, groups, state)
        if plan is None:
            raise NoUsablePlace(NO_ZONE)
        outcome = self._applied(request, state, size, [Share(None, size, len(beside), plan)])
        return replace(outcome, warnings=self._unknown([region], state))

    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Look up the zones in all regions; an unavailable zone is known, too.

        :raises NoUsablePlace: no region knows any of them.
        """
        search = names.Search('availability zone', [zone.name for zone in self.properties.zones])
        search.among(lambda: state.cloud.zones(None))
        for region in sorted(
            (search.answer(lambda: state.cloud.regions) if search.missing else None) or ()
        ):
            search.among(partial(state.cloud.zones, region))
        return search.binding_outcome(request)

    def check_resources(self, cloud: Cloud) -> None:
        """As `Policy.check_resources`: a zone has to be available, in whatever region."""
        missing = [zone.name for zone in self.properties.zones]
        for region in [None, *sorted(cloud.regions())]:
            known = cloud.zones(region) if missing else {}
            missing = [name for name in missing if not known.get(name)]
        shared_placement.refuse_unusable('availability zone', missing)

    def _unknown_in(self, regions: Collection[str], state: State) -> tuple[str, ...]:
        """Return a warning of zones unknown to these regions, unless other regions may know
        them.
        """
        try:
            others = set(state.cloud.regions) - set(regions)
        except CloudUnavailable:  # only this warning needs the answer
            return ()
        return () if others else self._unknown(regions, state)

    def _unknown(self, regions: Collection[str | None], state: State) -> tuple[str, ...]:
        """Return a warning of zones that none of these regions knows."""
        known = {name for region in regions for name in state.cloud.zones(region)}
        missing = [zone.name for zone in self.properties.zones if zone.name not in known]
        return names.unknown('availability zone', missing)

    def _plan_in_regions(
        self, regions: Mapping[str, int], size: Size, nodes: Sequence[Node], state: State
    ) -> list[Share]:
        """Plan each region's share among its own zones, for its own nodes."""
        located = partial(state.cloud.zones_in_regions, regions=regions)
        groups = _by_region(shared_placement.in_groups(size, nodes, located))
        return [
            Share(
                region=name,
                size=(share := Size(size.kind, count)),
                held=sum(group.total() for group in groups[name]),
                plan=self._plan(name, share, groups[name], state),
            )
            for name, count in sorted(regions.items())
            if count
        ]

    def _plan(
        self, region: str | None, size: Size, groups: Sequence[Located], state: State
    ) -> Plan | None:
        """Plan among the zones of one region; None if none of the listed ones is usable there."""
        known = state.cloud.zones(region)
        places = [
            Place(
                zone.name,
                zone.weight,
                known=zone.name in known,
                available=known.get(zone.name, False),
            )
            for zone in self.properties.zones
        ]
        if not any(place.available if size.kind == CREATION else place.known for place in places):
            return None
        return self.planner(size, places, groups)

    def _applied(
        self,
        request: CheckRequest,
        state: State,
        size: Size,
        shares: Sequence[Share],
        **by_region: Any,
    ) -> Outcome:
        counts: Counter[str] = Counter()
        for share in shares:
            counts.update(share.plan.counts if share.plan else {})
        change = state.action_data.change(size.kind)
        plan = {'zones': dict(sorted(counts.items())), **by_region}
        data = {**state.data, size.kind: change.replanned(size.count, **plan)}
        details = {
            'zones': [row for share in shares for row in _rows(share)],
            'unplaced': sum(share.plan.unplaced for share in shares if share.plan),
        }
        reason = shared_placement.summary(size, 'zone', len(counts))
        if size.kind != CREATION:
            return Outcome('APPLIED', reason, data=data, details=details)
        entries = _entries(shares)
        return Outcome(
            'APPLIED',
            reason,
            data={**data, 'placement': state.action_data.placement.with_entries(entries)},
            nodes=shared_placement.placed_node(request, state, entries[0]),
            details=details,
        )


def zones_to_use(request: CheckRequest) -> list[str] | None:
    """Return the zones of which a region must have one to get new nodes, or None if any region may.

    They matter where an enabled policy of this type is bound and supports the cluster's profile
    type. They are those of its spec, or the one that the profile of the new node names.
    """
    if request.cluster.profile.type not in ZonePlacement.profile_types:
        return None
    for one in request.policies:
        if one.enabled and one.spec.type == ZonePlacement.name:
            profile = shared_placement.profile_of_new_node(request)
            if profile and profile.zone:
                return [
                    profile.zone.partition(':')[0]
                ]  # Nova reads zone:host as a host in the zone
            properties = normalized(one.spec.properties, ZonePlacementProperties)
            return [zone['name'] for zone in properties['zones']]
    return None


def _alone(
    request: CheckRequest, state: State, nodes: Sequence[Node]
) -> tuple[str | None, Sequence[Node]]:
    """Return the region whose zones are planned if no policy planned by region, and the nodes that
    count there.
    """
    new = request.action.node
    if request.action.action != actions.NODE_CREATE or new is None:
        return request.cluster.profile.region, nodes
    new = structs.replace(new, data=state.node_data(new))
    return state.cloud.named_region_of(new), state.cloud.in_same_region(new, nodes)


def _by_region(
    groups: Sequence[Counter[Location]],
) -> Mapping[str | None, list[Counter[str | None]]]:
    """Region -> the nodes of each group by zone."""
    found: defaultdict[str | None, list[Counter[str | None]]]
    found = defaultdict(lambda: [Counter() for _ in groups])
    for number, group in enumerate(groups):
        for (region, zone), count in group.items():
            found[region][number][zone] = count
    return found


def _places(shares: Sequence[Share]) -> list[dict[str, Any]]:
    """The shares by region and zone; the whole of one without a zone if none is usable."""
    places: list[dict[str, Any]] = []
    for share in shares:
        if share.plan is None:
            places.append({'region_name': share.region, 'count': share.size.count})
        else:
            counts = share.plan.counts.items()
            places += [
                {'region_name': share.region, 'zone': zone, 'count': count}
                for zone, count in counts
            ]
    return places


def _rows(share: Share) -> list[dict[str, Any]]:
    if share.region is None:
        return [shared_placement.row(row) for row in share.plan.rows] if share.plan else []
    if share.plan is None:
        count = share.size.count
        final = share.held + (count if share.size.kind == CREATION else -count)
        whole = Row('-', 0, NO_CAP, False, share.held, Fraction(0), count, final, NO_USABLE_ZONE)
        return [shared_placement.row(whole, region_name=share.region)]
    return [shared_placement.row(row, region_name=share.region) for row in share.plan.rows]


def _entries(shares: Sequence[Share]) -> list[dict[str, str]]:
    """One entry a node to be created, dealt evenly over the regions and over the zones of all of
    them.
    """
    counts: dict[str | None, dict[str | None, int]] = {
        share.region: {row.name: row.planned for row in share.plan.rows}
        if share.plan
        else {None: share.size.count}
        for share in shares
    }
    return [
        {key: name for key, name in (('region_name', region), ('zone', zone)) if name is not None}
        for region, zone in interleave_groups(counts)
    ]
