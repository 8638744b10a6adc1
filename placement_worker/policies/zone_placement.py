"""The zone placement policy; inside the regions that region placement has chosen, where it is bound too.

:source: seeds 000 and 001; spec.md 3.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from placement_worker.cloud import Cloud
from placement_worker.errors import NoUsablePlace
from placement_worker.model import CheckRequest, Node
from placement_worker.planning.dealing import deal
from placement_worker.planning.inputs import DATA, quotas
from placement_worker.planning.placement import Place, Plan
from placement_worker.planning.sizing import CREATION, Size
from placement_worker.policies import placement
from placement_worker.policies.base import Outcome, Policy, State, skipped


class Zone(Struct, frozen=True, forbid_unknown_fields=True):
    """An availability zone that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of an availability zone.')]
    weight: Annotated[int, Meta(ge=1, description='Relative weight of the availability zone.')] = 100


class ZonePlacementProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.zone_placement-1.0."""

    zones: Annotated[list[Zone], Meta(min_length=1, description='Availability zones to choose from.')]

    def __post_init__(self) -> None:
        placement.refuse_repeated('zones', [zone.name for zone in self.zones])


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a size that one region takes, and its nodes; `plan` is None if no zone is usable there."""

    region: str | None
    size: Size
    plan: Plan | None


class ZonePlacement(Policy[ZonePlacementProperties]):
    """Say how many nodes each availability zone gains or loses."""

    name = 'senlin.policy.zone_placement'
    versions = {'1.0': ZonePlacementProperties}
    priority = 300
    targets = placement.TARGETS
    profile_types = frozenset({'os.nova.server-1.0'})

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Plan by zone.

        :raises NoUsablePlace: Nova knows none of the zones, or for a creation none is available.
        :raises NoFeasiblePlan: more nodes are to leave than there are.
        """
        profile = placement.profile_of_new_node(request)
        if profile and profile.zone:
            return skipped(f'The profile asks for availability zone {profile.zone}.')
        size = state.size(request)
        if not size.count:
            return skipped(placement.NOTHING_TO_DO)
        regions = quotas(state.data.get(size.kind, {}), 'region', f'{DATA}.{size.kind}')
        nodes = placement.members(request)
        if regions:
            return self._applied(request, state, size, self._plan_in_regions(regions, size, nodes, state))
        region = (profile or request.cluster.profile).region
        plan = self._plan(region, size, nodes, state)
        if plan is None:
            raise NoUsablePlace('No availability zone found available.')
        return self._applied(request, state, size, [Share(None, size, plan)])

    def check_resources(self, cloud: Cloud) -> None:
        """As `Policy.check_resources`: a zone has to be available."""
        known = cloud.zones(None)
        placement.refuse_unusable(
            'availability zone', [z.name for z in self.properties.zones if not known.get(z.name)]
        )

    def _plan_in_regions(
        self, regions: Mapping[str, int], size: Size, nodes: Sequence[Node], state: State
    ) -> list[Share]:
        """Plan each region's share among its own zones, for its own nodes."""
        members: dict[str | None, list[Node]] = {name: [] for name in regions}
        for node in nodes:
            members.setdefault(state.cloud.region_of(node), []).append(node)
        shares = [(name, Size(size.kind, count)) for name, count in sorted(regions.items()) if count]
        return [Share(name, share, self._plan(name, share, members[name], state)) for name, share in shares]

    def _plan(self, region: str | None, size: Size, nodes: Sequence[Node], state: State) -> Plan | None:
        """Plan among the zones of one region; None if none of the listed ones is usable there."""
        known = state.cloud.zones(region)
        places = [
            Place(zone.name, zone.weight, known=zone.name in known, available=known.get(zone.name, False))
            for zone in self.properties.zones
        ]
        if not any(place.available if size.kind == CREATION else place.known for place in places):
            return None
        return placement.plan_for(size, places, map(state.cloud.zone_of, nodes))

    def _applied(self, request: CheckRequest, state: State, size: Size, shares: Sequence[Share]) -> Outcome:
        counts: Counter[str] = Counter()
        for share in shares:
            counts.update(share.plan.counts if share.plan else {})
        plan: dict[str, Any] = {'zones': dict(sorted(counts.items()))}
        if shares[0].region is not None:
            plan['places'] = [entry for share in shares for entry in _places(share)]
        data = placement.decided(state.data, size, **plan)
        details = {
            'zones': [row for share in shares for row in _rows(share)],
            'unplaced': sum(share.plan.unplaced for share in shares if share.plan),
        }
        reason = placement.summary(size, 'zone', len(counts))
        if size.kind != CREATION:
            return Outcome('APPLIED', reason, data=data, details=details)
        entries = _entries(shares)
        return Outcome(
            'APPLIED',
            reason,
            data=placement.with_placements(data, entries),
            nodes=placement.placed_node(request, state, entries[0]),
            details=details,
        )


def _places(share: Share) -> list[dict[str, Any]]:
    """The share by region and zone; the whole of it without a zone if none is usable."""
    if share.plan is None:
        return [{'region_name': share.region, 'count': share.size.count}]
    return [{'region_name': share.region, 'zone': zone, 'count': count} for zone, count in share.plan.counts.items()]


def _rows(share: Share) -> list[dict[str, Any]]:
    region = {} if share.region is None else {'region_name': share.region}
    return [placement.row(row, **region) for row in share.plan.rows] if share.plan else []


def _entries(shares: Sequence[Share]) -> list[dict[str, str]]:
    """One entry a node to be created, dealt evenly over the zones of all regions."""
    counts: dict[tuple[tuple[str, str], ...], int] = {}
    for share in shares:
        region = () if share.region is None else (('region_name', share.region),)
        if share.plan is None:
            counts[region] = share.size.count
        else:
            counts.update({(*region, ('zone', row.name)): row.planned for row in share.plan.rows})
    return [dict(entry) for entry in deal(counts)]
