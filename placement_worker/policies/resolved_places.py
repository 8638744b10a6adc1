"""The places of a check: the regions and zones that its placement policies list, as they are now.

Zone and region placement, a rebalance and the reasons of errors must agree on the places: region
placement must give no share to a region in which zone placement then finds no zone. Therefore each
place is resolved once per check, from the specs of both policies, the cloud, the cordons and the
failed nodes. Nothing is requested from the cloud before a policy needs it: a deletion in one region
must not fail because Nova of another region does not respond.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from placement_worker.cloud.snapshot import Snapshot, without_host
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, ChangeKind, Location
from placement_worker.contract.model import CheckRequest, Node, Profile
from placement_worker.errors import NoUsablePlace
from placement_worker.planning.places import (
    NO_CAP,
    NOWHERE,
    Cordon,
    NodeCounts,
    Place,
    covering_cordon,
    raise_if_only_cordons_close,
)
from placement_worker.planning.shortage import Backoff, Shortage, shortages_by_place
from placement_worker.policies.place_names import none_usable
from placement_worker.policies.placement_properties import (
    PlacementProperties,
    Region,
    RegionPlacementProperties,
    Zone,
    ZonePlacementProperties,
)
from placement_worker.policies.recorded_failures import memory_of

NO_REGION = 'No region is found usable.'
NO_ZONE = 'No availability zone found available.'
NO_USABLE_ZONE = 'no usable zone'


@dataclass(slots=True)
class Places:
    """The places of one check.

    :ivar backoffs: those of all enabled placement policies that react to shortages, also of
        policies that skip this action.
    :ivar listed_regions: None if no policy places by region.
    :ivar listed_zones: None if no policy places by zone; zones then do not matter.
    """

    request: CheckRequest
    cloud: Snapshot
    cordons: Sequence[Cordon]
    now: datetime.datetime
    backoffs: Sequence[Backoff] = ()
    listed_regions: RegionPlacementProperties | None = None
    listed_zones: ZonePlacementProperties | None = None
    _regions: dict[ChangeKind, list[Place]] = field(init=False, default_factory=dict)
    _zones: dict[tuple[ChangeKind, str | None, bool], list[Place]] = field(
        init=False, default_factory=dict
    )

    def regions(self, kind: ChangeKind) -> Sequence[Place]:
        """Return the listed regions.

        For a creation, one is available only if zone placement can create a node there.

        For a deletion, neither usable zones nor shortages matter.
        """
        if kind not in self._regions:
            regions = [self._region(place) for place in _listed(self.listed_regions)]
            if kind == CREATION:
                regions = [self._closed_if_zones_are(region) for region in regions]
                regions = self._regions_with_shortages(regions)
            self._regions[kind] = regions
        return self._regions[kind]

    def checked_regions(self, kind: ChangeKind, held: NodeCounts = NOWHERE) -> Sequence[Place]:
        """Return the listed regions if nodes can be created or deleted in one of them.

        :raises NoUsablePlace: the cloud knows no listed region, or no node can be created in any;
            if only cordons close them, the text names these.
        """
        regions, known = self.regions(kind), self.cloud.regions
        if not any(region.known for region in regions):
            names = [region.name for region in regions]
            raise none_usable(NO_REGION, 'region', 'regions', names, known)
        if kind != CREATION or any(region.available for region in regions):
            return regions
        all_known_are_cordoned = all(
            self.cordon_of(region.name, None) for region in regions if region.known
        )
        # Nova of a cordoned region may be down, so it is asked for usable zones only now.
        regions_with_zone = [
            region
            for region in regions
            if region.known and (not self.listed_zones or self._available_zones(region))
        ]
        reason = NO_REGION if all_known_are_cordoned else NO_ZONE
        raise_if_only_cordons_close(regions_with_zone, reason, held)
        if regions_with_zone:
            # Even without cordons, these regions are at their cap or short of capacity: let the
            # planner report that.
            return regions
        known_zones = set[str]().union(
            *(self.cloud.zones(region.name) for region in regions if region.known)
        )
        raise none_usable(NO_ZONE, 'availability zone', 'zones', self._wanted_zones, known_zones)

    def zones(self, kind: ChangeKind, region: str | None, *, by_region: bool) -> Sequence[Place]:
        """Return the listed zones as they are in one region; None is the home region.

        :param by_region: whether a policy plans by region. Without a plan by region, nodes are
            located by zone name only, so a shortage in a zone of that name counts in every region.
        """
        key = (kind, region, by_region)
        if key not in self._zones:
            zones = [self._zone(zone, region) for zone in _listed(self.listed_zones)]
            if kind == CREATION:
                zones = self._zones_with_shortages(zones, region, by_region=by_region)
            self._zones[key] = zones
        return self._zones[key]

    def zones_by_region(self) -> dict[str | None, Sequence[Place]]:
        """Return the zones of each region in which a rebalance places nodes by zone.

        :returns: region -> its zones; None is the only region if no policy places by region.
        :raises NoUsablePlace: no node can be created in any place.
        """
        if self.listed_regions is None:
            region = self.request.cluster.profile.region
            zones = self.zones(CREATION, region, by_region=False)
            if not any(zone.available for zone in zones):
                raise_if_only_cordons_close(zones, NO_ZONE)
                raise NoUsablePlace(NO_ZONE)
            return {None: zones}
        regions = self.checked_regions(CREATION)
        names = [region.name for region in regions if region.known] if self.listed_zones else []
        divided = {name: self.zones(CREATION, name, by_region=True) for name in names}
        return {name: zones for name, zones in divided.items() if any(zone.known for zone in zones)}

    def cordon_of(self, region: str | None, zone: str | None) -> Cordon | None:
        """Return the cordon of a zone; without `zone`, that of the whole region.

        The home region is looked up only if a cordon needs its name.
        """
        if region is None and any(cordon.region for cordon in self.cordons):
            region = self.cloud.home_region
        return covering_cordon(self.cordons, region, zone)

    def _available_zones(self, region: Place) -> list[str]:
        known = self.cloud.zones(region.name)
        return [name for name in self._wanted_zones if known.get(name)]

    @property
    def _wanted_zones(self) -> list[str]:
        named = self._zone_in_profile
        if named:
            return [without_host(named)]
        return [zone.name for zone in _listed(self.listed_zones)]

    @property
    def _zone_in_profile(self) -> str | None:
        profile = profile_of_new_node(self.request)
        return profile.zone if profile else None

    def _zone(self, listed: Zone | Region, region: str | None) -> Place:
        known = self.cloud.zones(region)
        is_known, is_available = listed.name in known, known.get(listed.name, False)
        note = '' if is_available else 'unavailable'
        zone = Place(listed.name, listed.weight, known=is_known, available=is_available, note=note)
        return zone.cordoned(self.cordon_of(region, listed.name))

    def _region(self, listed: Zone | Region) -> Place:
        is_known = listed.name in self.cloud.regions
        cap = listed.cap if isinstance(listed, Region) else NO_CAP
        region = Place(listed.name, listed.weight, cap, known=is_known, available=is_known)
        region = region.cordoned(self.cordon_of(listed.name, None))
        evacuating = self._cordons_evacuating_all_zones(listed.name) if is_known else []
        if region.evacuated or not evacuating:
            return region
        notes = ', '.join(map(str, dict.fromkeys(evacuating)))
        return structs.replace(region, evacuated=True, cordon_note=notes)

    def _cordons_evacuating_all_zones(self, region: str) -> list[Cordon]:
        """Return the cordons of the listed zones of a region, or [] if nodes may stay in one."""
        # Ask Nova for the zones only if a cordon evacuates one.
        if self.listed_zones is None or not any(
            cordon.evacuate and cordon.zone and cordon.applies_in(region) for cordon in self.cordons
        ):
            return []
        known = self.cloud.zones(region)
        names = [zone.name for zone in self.listed_zones.places if zone.name in known]
        cordons = [self.cordon_of(region, name) for name in names]
        evacuating = [cordon for cordon in cordons if cordon and cordon.evacuate]
        return evacuating if len(evacuating) == len(names) else []

    def _closed_if_zones_are(self, region: Place) -> Place:
        if self.listed_zones is None or not region.available:
            return region
        usable = self._available_zones(region)
        if not usable:
            return structs.replace(region, available=False, note=NO_USABLE_ZONE)
        # A profile may name a cordoned zone: the node is created there anyway.
        if self._zone_in_profile:
            return region
        cordons = [self.cordon_of(region.name, zone) for zone in usable]
        closing = [cordon for cordon in cordons if cordon]
        if len(closing) < len(cordons):
            return region
        notes = ', '.join(map(str, dict.fromkeys(closing)))
        return region.closed(closing, f'{NO_USABLE_ZONE}: {notes}')

    def _regions_with_shortages(self, regions: list[Place]) -> list[Place]:
        by_zone = self.listed_zones is not None
        shortages = self._shortages(self.listed_regions, by_region=True, by_zone=by_zone)
        if not shortages:
            return regions
        return [
            structs.replace(region, shortage=self._shortage_of_region(region, shortages))
            for region in regions
        ]

    def _shortage_of_region(
        self, region: Place, shortages: Mapping[Location, Shortage]
    ) -> Shortage | None:
        """If all uncordoned zones of a region are short, the shortage that ends first counts."""
        of_region = shortages.get((region.name, None))
        if of_region or self.listed_zones is None or not region.available:
            return of_region
        uncordoned = [
            zone for zone in self._available_zones(region) if not self.cordon_of(region.name, zone)
        ]
        of_zones = [
            shortages[region.name, zone] for zone in uncordoned if (region.name, zone) in shortages
        ]
        if len(of_zones) < len(uncordoned):
            return None
        return min(of_zones, key=lambda shortage: shortage.until, default=None)

    def _zones_with_shortages(
        self, zones: list[Place], region: str | None, *, by_region: bool
    ) -> list[Place]:
        # A NODE_CREATE has a fixed region; only failures there are evidence.
        by_region = by_region or profile_of_new_node(self.request) is not None
        shortages = self._shortages(self.listed_zones, by_region=by_region)
        if not shortages:
            return zones
        evidence_region = (region or self.cloud.home_region) if by_region else None
        return [
            structs.replace(zone, shortage=shortages.get((evidence_region, zone.name)))
            for zone in zones
        ]

    def _shortages(
        self, listed: PlacementProperties | None, *, by_region: bool, by_zone: bool = True
    ) -> dict[Location, Shortage]:
        """Return shortages by region and zone, with None for what `by_...` leaves out."""
        backoff = backoff_of(listed) if listed else None
        if backoff is None:
            return {}

        def locate(node: Node) -> Location:
            region = self.cloud.region_of(node) if by_region else None
            return region, self.cloud.zone_of(node) if by_zone else None

        memory = memory_of(self.request, self.backoffs)
        nodes = self.request.cluster.nodes
        return shortages_by_place(nodes, memory, locate, backoff, self.now)


def backoff_of(properties: PlacementProperties) -> Backoff | None:
    """Return the delays after a lack of capacity; None if it has no effect."""
    on_shortage = properties.on_shortage
    if on_shortage.mode == 'ignore':
        return None
    return Backoff(on_shortage.initial_s, on_shortage.max_s)


def profile_of_new_node(request: CheckRequest) -> Profile | None:
    if request.action.action != actions.NODE_CREATE or request.action.node is None:
        return None
    return request.action.node.profile or request.cluster.profile


def _listed(listed: PlacementProperties | None) -> Sequence[Zone | Region]:
    return listed.places if listed else ()
