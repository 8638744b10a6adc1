"""The places of a check: the regions and zones that its placement policies list, as they are now.

Zone and region placement, a rebalance and the reasons of errors must agree on the places: region
placement must give no share to a region in which zone placement then finds no zone. Therefore each
place is resolved once per check, from the specs of both policies, the cloud, the cordons and the
failed nodes. Nothing is requested from the cloud before a policy needs it: a deletion in one region
must not fail because Nova of another region does not respond.

A scale-in deletes failed nodes first, and with them the evidence of a shortage. The data of the
cluster therefore record their failures; otherwise the next node would go to the full place again.
"""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field, structs

from placement_worker.cloud.snapshot import Location, Snapshot, stated_place, without_host
from placement_worker.contract import actions
from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    FAILURES,
    Kind,
    recorded_failures,
)
from placement_worker.contract.model import CheckRequest, ClusterPatch, Node, Profile
from placement_worker.formats.text import counted, escaped, shortened
from placement_worker.planning.places import (
    NO_CAP,
    NOWHERE,
    Cordon,
    Located,
    Place,
    covering_cordon,
    no_open_place,
)
from placement_worker.planning.shortage import (
    Backoff,
    Memory,
    Shortage,
    failures_after_deletion,
    shortages_by_place,
)
from placement_worker.policies.place_names import none_usable

NO_REGION = 'No region is found usable.'
NO_ZONE = 'No availability zone found available.'
NO_USABLE_ZONE = 'no usable zone'
MAX_NUMBER = 2**31 - 1  # the maximum weight, cap and skew; it bounds the time to plan
_LONGEST_S = 7 * 24 * 3600


class Zone(Struct, frozen=True, forbid_unknown_fields=True):
    """An availability zone that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of an availability zone.')]
    weight: Annotated[
        int, Meta(ge=1, le=MAX_NUMBER, description='Relative weight of the availability zone.')
    ] = 100


class Region(Struct, frozen=True, forbid_unknown_fields=True):
    """A region that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of a region.')]
    weight: Annotated[
        int, Meta(ge=1, le=MAX_NUMBER, description='Relative weight of the region.')
    ] = 100
    cap: Annotated[
        int,
        Meta(
            ge=NO_CAP,
            le=MAX_NUMBER,
            description='Maximum number of nodes in this region; -1: no cap.',
        ),
    ] = NO_CAP


class Spread(Struct, frozen=True, forbid_unknown_fields=True):
    """The tolerated distance of each place from its ideal, and what happens beyond it."""

    mode: Annotated[
        Literal['best_effort', 'strict'],
        Meta(
            description='Whether a plan beyond `max_skew` is carried out with a warning '
            '(best_effort) or a creation fails (strict). A deletion never fails.'
        ),
    ] = 'best_effort'
    max_skew: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_NUMBER,
            description='Maximum difference between the nodes of a place and its ideal, which '
            'counts all listed places, available or not.',
        ),
    ] = 1


class OnShortage(Struct, frozen=True, forbid_unknown_fields=True):
    """The effect of a lack of capacity, and the delays between attempts."""

    mode: Annotated[
        Literal['redistribute', 'ignore'],
        Meta(
            description='Whether nodes go to other places while a place is short of capacity '
            '(redistribute), or shortages have no effect (ignore).'
        ),
    ] = 'redistribute'
    initial_s: Annotated[
        int,
        Meta(
            ge=1,
            le=_LONGEST_S,
            description='Seconds without new nodes in a place after its first failed attempt; '
            'each further attempt that fails doubles them.',
        ),
    ] = 300
    max_s: Annotated[
        int,
        Meta(
            ge=1,
            le=_LONGEST_S,
            description='Maximum number of seconds without new nodes after a failed attempt.',
        ),
    ] = 3600

    def __post_init__(self) -> None:
        if self.max_s < self.initial_s:
            raise ValueError(
                f'Expected `max_s` >= `initial_s`, got `{self.max_s}` < `{self.initial_s}`'
            )


class PlacementProperties(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The properties of both placement types; `places` has another key in each."""

    places: Sequence[Zone | Region]
    spread: Annotated[
        Spread, Meta(description='How evenly nodes are spread over the places. New in 1.1.')
    ] = Spread()
    on_shortage: Annotated[
        OnShortage, Meta(description='Reaction to a lack of capacity in a place. New in 1.1.')
    ] = OnShortage()

    def __post_init__(self) -> None:
        key, seen = self.__struct_encode_fields__[0], set[str]()
        for i, place in enumerate(self.places):
            if place.name in seen:  # it would have two weights
                raise ValueError(
                    f'Expected each name once, got `{place.name}` again in `{key}[{i}]`'
                )
            seen.add(place.name)

    @property
    def backoff(self) -> Backoff | None:
        """The delays after a lack of capacity; None if it has no effect."""
        if self.on_shortage.mode == 'ignore':
            return None
        return Backoff(self.on_shortage.initial_s, self.on_shortage.max_s)


class ZonePlacementProperties(PlacementProperties, frozen=True, kw_only=True):
    """Properties of senlin.policy.zone_placement."""

    places: Annotated[
        list[Zone], Meta(min_length=1, description='Availability zones to choose from.')
    ] = field(name='zones')


class RegionPlacementProperties(PlacementProperties, frozen=True, kw_only=True):
    """Properties of senlin.policy.region_placement."""

    places: Annotated[list[Region], Meta(min_length=1, description='Regions to choose from.')] = (
        field(name='regions')
    )


ANY_SKEW = Spread(max_skew=MAX_NUMBER)
# Version 1.0 tolerates any skew, and does not react to shortages.
AS_IN_1_0: Mapping[str, Any] = {'spread': ANY_SKEW, 'on_shortage': OnShortage('ignore')}


@dataclasses.dataclass(slots=True)
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
    _regions: dict[Kind, list[Place]] = dataclasses.field(init=False, default_factory=dict)
    _zones: dict[tuple[Kind, str | None, bool], list[Place]] = dataclasses.field(
        init=False, default_factory=dict
    )

    def regions(self, kind: Kind) -> Sequence[Place]:
        """Return the listed regions, in the order of the spec.

        For a creation, a region is available only if zone placement can create a node there. For a
        deletion, neither usable zones nor shortages matter.
        """
        if kind not in self._regions:
            regions = [self._region(place) for place in _listed(self.listed_regions)]
            if kind == CREATION:
                regions = [self._with_zones(region) for region in regions]
                regions = self._regions_with_shortages(regions)
            self._regions[kind] = regions
        return self._regions[kind]

    def checked_regions(self, kind: Kind, held: Located = NOWHERE) -> Sequence[Place]:
        """Return the listed regions if nodes can be created or deleted in one of them.

        :raises NoUsablePlace: the cloud knows none, or a creation is possible in none; the text
            names the cordons that are to blame.
        """
        regions, known = self.regions(kind), self.cloud.regions
        if not any(region.known for region in regions):
            names = [region.name for region in regions]
            raise none_usable(NO_REGION, 'region', 'regions', names, known)
        if kind != CREATION or any(region.available for region in regions):
            return regions
        are_cordoned = all(self.cordon_of(region.name, None) for region in regions if region.known)
        # Nova of a cordoned region may be down, so it is asked for usable zones only now.
        regions_with_zone = [
            region
            for region in regions
            if region.known and (not self.listed_zones or self._usable(region))
        ]
        reason = NO_REGION if are_cordoned else NO_ZONE
        raise_if_only_cordons_close(regions_with_zone, reason, held)
        if regions_with_zone:
            # Even without cordons, these regions are at their cap or short of capacity: let the
            # planner report that.
            return regions
        known_zones = set[str]().union(
            *(self.cloud.zones(region.name) for region in regions if region.known)
        )
        raise none_usable(NO_ZONE, 'availability zone', 'zones', self.zone_names, known_zones)

    def zones(self, kind: Kind, region: str | None, *, by_region: bool) -> Sequence[Place]:
        """Return the listed zones as they are in one region, in the order of the spec.

        :param region: None for the home region.
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

    def cordon_of(self, region: str | None, zone: str | None) -> Cordon | None:
        """Return the cordon of a zone; without `zone`, that of the whole region.

        The home region is looked up only if a cordon needs its name.
        """
        if region is None and any(cordon.region for cordon in self.cordons):
            region = self.cloud.home_region
        return covering_cordon(self.cordons, region, zone)

    def _usable(self, region: Place) -> list[str]:
        known = self.cloud.zones(region.name)
        return [name for name in self.zone_names if known.get(name)]

    @property
    def zone_names(self) -> list[str]:
        named = self._named_zone
        if named:
            return [without_host(named)]
        return [zone.name for zone in _listed(self.listed_zones)]

    @property
    def _named_zone(self) -> str | None:
        profile = profile_of_new_node(self.request)
        return profile.zone if profile else None

    def _zone(self, listed: Zone | Region, region: str | None) -> Place:
        known = self.cloud.zones(region)
        zone = Place(
            listed.name,
            listed.weight,
            known=listed.name in known,
            available=known.get(listed.name, False),
        )
        return zone.cordoned(self.cordon_of(region, listed.name))

    def _region(self, listed: Zone | Region) -> Place:
        is_known = listed.name in self.cloud.regions
        cap = listed.cap if isinstance(listed, Region) else NO_CAP
        region = Place(listed.name, listed.weight, cap, known=is_known, available=is_known)
        region = region.cordoned(self.cordon_of(listed.name, None))
        evacuating = self._evacuating_zones(listed.name) if is_known else []
        if region.evacuated or not evacuating:
            return region
        notes = ', '.join(map(str, dict.fromkeys(evacuating)))
        return structs.replace(region, evacuated=True, cordon_note=notes)

    def _evacuating_zones(self, region: str) -> list[Cordon]:
        """A region is evacuated if each of its listed zones is."""
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

    def _with_zones(self, region: Place) -> Place:
        if self.listed_zones is None or not region.available:
            return region
        usable = self._usable(region)
        if not usable:
            return structs.replace(region, available=False, note=NO_USABLE_ZONE)
        # A profile may name a cordoned zone: the node is created there anyway.
        if self._named_zone:
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
        """Return the shortage of the region itself.

        If all of its uncordoned zones are short, return the one that ends first.
        """
        of_region = shortages.get((region.name, None))
        if of_region or self.listed_zones is None or not region.available:
            return of_region
        uncordoned = [
            zone for zone in self._usable(region) if not self.cordon_of(region.name, zone)
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
        """Return the shortages; without `by_region` or `by_zone`, keys have None for that part."""
        if listed is None or listed.backoff is None:
            return {}

        def locate(node: Node) -> Location:
            region = self.cloud.region_of(node) if by_region else None
            return region, self.cloud.zone_of(node) if by_zone else None

        memory = _memory_of(self.request, self.backoffs)
        nodes = self.request.cluster.nodes
        return shortages_by_place(nodes, memory, locate, listed.backoff, self.now)


def raise_if_only_cordons_close(
    places: Sequence[Place], reason: str, held: Located = NOWHERE
) -> None:
    """:raises NoUsablePlace: without its cordons, one of the places could get a node."""
    cordons = [
        cordon
        for place in places
        if place.is_opened_without_cordons(held.get(place.name, 0))
        for cordon in place.cordons
    ]
    if cordons:
        raise no_open_place(reason, cordons)


def not_emptied(places: Sequence[Place], staying: Located, noun: str) -> list[str]:
    return [
        f'Cannot evacuate {noun} {escaped(shortened(place.name))}: '
        f'{counted(staying[place.name], "protected node")} must not be deleted there'
        for place in places
        if place.evacuated and staying.get(place.name)
    ]


def profile_of_new_node(request: CheckRequest) -> Profile | None:
    if request.action.action != actions.NODE_CREATE or request.action.node is None:
        return None
    return request.action.node.profile or request.cluster.profile


def _listed(listed: PlacementProperties | None) -> Sequence[Zone | Region]:
    return listed.places if listed else ()


def _memory_of(request: CheckRequest, backoffs: Sequence[Backoff]) -> Memory:
    # The largest `max_s` of all policies ends a record.
    failures = recorded_failures(request.cluster.data)
    return Memory(failures, max((backoff.max_s for backoff in backoffs), default=0))


def patch_after_deletion(
    request: CheckRequest,
    data: Mapping[str, Any],
    patch: ClusterPatch | None,
    backoffs: Sequence[Backoff],
    now: datetime.datetime,
) -> ClusterPatch | None:
    """Return the patch of the cluster that records the failures of deleted nodes, or None.

    :param data: the data of the action after all policies.
    :param patch: the policies' own patch, which the result extends.
    """
    deleted = deleted_ids(request, data)
    if not backoffs or not deleted:
        return None
    nodes = {node.id: node for node in request.cluster.nodes}
    if request.action.node:  # may be newer than the cluster's copy
        nodes[request.action.node.id] = request.action.node
    failures = failures_after_deletion(
        deleted,
        [*nodes.values()],
        _memory_of(request, backoffs),
        lambda node: stated_location(node, request),
        max(backoffs, key=lambda backoff: backoff.max_s),
        now,
    )
    if failures is None:
        return None
    cluster_data = dict(patch.data if patch else request.cluster.data)
    cluster_data.pop(FAILURES, None)
    if failures:
        cluster_data[FAILURES] = msgspec.to_builtins(failures)
    return ClusterPatch(cluster_data)


def deleted_ids(request: CheckRequest, data: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the nodes that a policy chose or an action names for deletion.

    The values may be malformed: perhaps no policy has validated them.
    """
    action, deletion = request.action, data.get(DELETION)
    is_derived_node_action = action.action in actions.OF_A_NODE and action.cause == actions.DERIVED
    if request.target != 'BEFORE' or is_derived_node_action:
        return frozenset()
    ids = [*_ids(deletion.get('candidates') if isinstance(deletion, Mapping) else None)]
    # An unplanned resize ignores its candidates: it is a growth, or the engine chooses victims.
    is_unplanned_resize = action.action == actions.CLUSTER_RESIZE and deletion is None
    if action.action in actions.REMOVING and not is_unplanned_resize:
        ids += _ids(action.inputs.get('candidates'))
    if action.action == actions.NODE_DELETE and action.node:
        ids.append(action.node.id)
    return frozenset(ids)


def stated_location(node: Node, request: CheckRequest) -> Location:
    """Return region and zone as the request names them; a check without a cloud has no others."""
    region, zone = stated_place(node)
    return region or request.cluster.profile.region, zone


def _ids(candidates: object) -> Iterator[str]:
    if isinstance(candidates, (list, dict)):
        yield from (candidate for candidate in candidates if isinstance(candidate, str))
