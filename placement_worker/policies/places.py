"""The places of a check: the regions and zones that its placement policies list, as they are now.

Zone and region placement, a rebalance and the reasons of errors must agree on the places: region
placement must give no share to a region in which zone placement then finds no zone. Therefore each
place is resolved once per check, from the specs of both policies, the cloud, the cordons and the
failed nodes. Nothing is requested from the cloud before a policy needs it: a deletion in one region
must not fail because Nova of another region does not respond.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct, structs

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.cloud.stated_places import Location, without_host
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, Kind
from placement_worker.contract.cluster import Node, Profile
from placement_worker.contract.model import CheckRequest
from placement_worker.planning import cordon
from placement_worker.planning.cordon import Cordon
from placement_worker.planning.places import NO_CAP, NOWHERE, Located, Place
from placement_worker.planning.shortage import Backoff, Shortage, shortages_by_place
from placement_worker.policies import place_names, recorded_failures

NO_REGION = 'No region is found usable.'
NO_ZONE = 'No availability zone found available.'
NO_USABLE_ZONE = 'no usable zone'
HEAVIEST = 2**31 - 1  # the maximum weight and cap, which bounds the time to plan
LONGEST_S = 7 * 24 * 3600


class Zone(Struct, frozen=True, forbid_unknown_fields=True):
    """An availability zone that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of an availability zone.')]
    weight: Annotated[
        int,
        Meta(
            ge=1,
            le=HEAVIEST,
            description='Relative weight of the availability zone.',
        ),
    ] = 100


class Region(Struct, frozen=True, forbid_unknown_fields=True):
    """A region that nodes may be placed in."""

    name: Annotated[str, Meta(min_length=1, description='Name of a region.')]
    weight: Annotated[
        int, Meta(ge=1, le=HEAVIEST, description='Relative weight of the region.')
    ] = 100
    cap: Annotated[
        int,
        Meta(
            ge=NO_CAP,
            le=HEAVIEST,
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
            le=HEAVIEST,
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
            le=LONGEST_S,
            description='Seconds without new nodes in a place after its first failed attempt; '
            'each further attempt that fails doubles them.',
        ),
    ] = 300
    max_s: Annotated[
        int,
        Meta(
            ge=1,
            le=LONGEST_S,
            description='Maximum number of seconds without new nodes after a failed attempt.',
        ),
    ] = 3600

    def __post_init__(self) -> None:
        if self.max_s < self.initial_s:
            raise ValueError(
                f'Expected `max_s` >= `initial_s`, got `{self.max_s}` < `{self.initial_s}`'
            )


SpreadProperty = Annotated[
    Spread, Meta(description='How evenly nodes are spread over the places. New in 1.1.')
]
OnShortageProperty = Annotated[
    OnShortage, Meta(description='Reaction to a lack of capacity in a place. New in 1.1.')
]


class PlacementProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """The base class of the properties of version 1.0, which does not have them.

    The properties of version 1.1 replace these attributes by fields.
    """

    @property
    def spread(self) -> Spread | None:
        """The tolerated skew; None for any."""
        return None

    @property
    def on_shortage(self) -> OnShortage | None:
        """The reaction to a lack of capacity; None for nothing."""
        return None

    @property
    def backoff(self) -> Backoff | None:
        """The delays of `on_shortage`; None if shortages have no effect."""
        found = self.on_shortage
        if found is None or found.mode == 'ignore':
            return None
        return Backoff(found.initial_s, found.max_s)


class ZonePlacementProperties(PlacementProperties, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.zone_placement-1.0."""

    zones: Annotated[
        list[Zone], Meta(min_length=1, description='Availability zones to choose from.')
    ]

    def __post_init__(self) -> None:
        check_distinct('zones', [zone.name for zone in self.zones])


class ZonePlacementProperties11(ZonePlacementProperties, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.zone_placement-1.1."""

    spread: SpreadProperty = Spread()
    on_shortage: OnShortageProperty = OnShortage()


class RegionPlacementProperties(PlacementProperties, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.region_placement-1.0."""

    regions: Annotated[list[Region], Meta(min_length=1, description='Regions to choose from.')]

    def __post_init__(self) -> None:
        check_distinct('regions', [region.name for region in self.regions])


class RegionPlacementProperties11(
    RegionPlacementProperties, frozen=True, forbid_unknown_fields=True
):
    """Properties of senlin.policy.region_placement-1.1."""

    spread: SpreadProperty = Spread()
    on_shortage: OnShortageProperty = OnShortage()


def check_distinct(property_name: str, names: Sequence[str]) -> None:
    """Check that a spec lists each place once; a repeated place would have two weights.

    :raises ValueError: a name is repeated; the decoder adds the path.
    """
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise ValueError(
                f'Expected each name once, got `{name}` again in `{property_name}[{i}]`'
            )
        seen.add(name)


class Listed(NamedTuple):
    """The places that a placement policy lists; no `backoff` means that none is ever short."""

    places: Sequence[Zone | Region]
    backoff: Backoff | None


@dataclass(slots=True)
class Places:
    """The places of one check.

    :ivar backoffs: those of all enabled placement policies that react to shortages, also of those
        that do not handle the action.
    :ivar listed_regions: None if no policy places by region.
    :ivar listed_zones: None if no policy places by zone; a region then stands alone.
    """

    request: CheckRequest
    cloud: Snapshot
    cordons: Sequence[Cordon]
    now: datetime.datetime
    backoffs: Sequence[Backoff] = ()
    listed_regions: Listed | None = None
    listed_zones: Listed | None = None
    _regions: dict[Kind, list[Place]] = field(init=False, default_factory=dict)
    _zones: dict[tuple[Kind, str | None, bool], list[Place]] = field(
        init=False, default_factory=dict
    )

    def regions(self, kind: Kind) -> Sequence[Place]:
        """Return the listed regions, in the order of the spec.

        For a creation, a region is available only if zone placement can create a node there. A
        deletion asks neither for that nor for shortages, which are no reason to delete a node.
        """
        if kind not in self._regions:
            regions = [self._region(one) for one in _listed(self.listed_regions)]
            if kind == CREATION:
                regions = self._with_shortages([self._with_zones(one) for one in regions])
            self._regions[kind] = regions
        return self._regions[kind]

    def usable_regions(self, kind: Kind, held: Located = NOWHERE) -> Sequence[Place]:
        """Return the listed regions if nodes can be created or deleted in one of them.

        :raises NoUsablePlace: the cloud knows none, or a creation is possible in none; the text
            names the cordons that are to blame.
        """
        regions, known = self.regions(kind), self.cloud.regions
        if not any(one.known for one in regions):
            names = [one.name for one in regions]
            raise place_names.none_usable(NO_REGION, 'region', 'regions', names, known)
        if kind != CREATION or any(one.available for one in regions):
            return regions
        are_cordoned = all(self.cordon_of(one.name, None) for one in regions if one.known)
        # Nova of a cordoned region may be down, so it is asked for usable zones only now.
        with_zone = [
            one for one in regions if one.known and (not self.listed_zones or self._usable(one))
        ]
        check_cordons(with_zone, NO_REGION if are_cordoned else NO_ZONE, held)
        if with_zone:  # they are full, which is the reason that the planner gives
            return regions
        of_regions = set[str]().union(*(self.cloud.zones(one.name) for one in regions if one.known))
        raise place_names.none_usable(
            NO_ZONE, 'availability zone', 'zones', self.zone_names, of_regions
        )

    def zones(self, kind: Kind, region: str | None, *, by_region: bool) -> Sequence[Place]:
        """Return the listed zones as they are in one region, in the order of the spec.

        :param region: None for the home region.
        :param by_region: whether a policy plans by region. If none does, a zone is short of
            capacity wherever a zone of its name is, as nodes are counted by the zone's name.
        """
        key = (kind, region, by_region)
        if key not in self._zones:
            zones = [self._zone(one, region) for one in _listed(self.listed_zones)]
            # A new node has one region, whose nodes alone are evidence.
            in_region = by_region or profile_of_new_node(self.request) is not None
            listed = self.listed_zones if kind == CREATION else None
            short = self._shortages(listed, by_region=in_region)
            if short:
                of = (region or self.cloud.home_region) if in_region else None
                zones = [structs.replace(one, shortage=short.get((of, one.name))) for one in zones]
            self._zones[key] = zones
        return self._zones[key]

    def cordon_of(self, region: str | None, zone: str | None) -> Cordon | None:
        """Return the cordon of a zone; without `zone`, that of the whole region.

        The home region is looked up only if a cordon needs its name.
        """
        if region is None and any(one.region for one in self.cordons):
            region = self.cloud.home_region
        return cordon.covering(self.cordons, region, zone)

    def _usable(self, region: Place) -> list[str]:
        """Return the zones for new nodes that are available in a region, cordoned or not."""
        known = self.cloud.zones(region.name)
        return [name for name in self.zone_names if known.get(name)]

    @property
    def zone_names(self) -> list[str]:
        """The zones for new nodes: the one that the profile of a new node names, else all."""
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
        """Return the cordons that evacuate each listed zone of a region's Nova, or none."""
        if self.listed_zones is None or not any(
            one.evacuate and one.zone and one.region in (None, region) for one in self.cordons
        ):
            return []
        known = self.cloud.zones(region)
        names = [zone.name for zone in self.listed_zones.places if zone.name in known]
        cordons = [self.cordon_of(region, name) for name in names]
        evacuating = [one for one in cordons if one and one.evacuate]
        return evacuating if len(evacuating) == len(names) else []

    def _with_zones(self, region: Place) -> Place:
        if self.listed_zones is None or not region.available:
            return region
        usable = self._usable(region)
        if not usable:
            return structs.replace(region, available=False, note=NO_USABLE_ZONE)
        cordons = [self.cordon_of(region.name, zone) for zone in usable]
        closing = [one for one in cordons if one]
        # A cordon does not refuse a zone that the user names.
        if len(closing) < len(cordons) or self._named_zone:
            return region
        notes = ', '.join(map(str, dict.fromkeys(closing)))
        return region.closed(closing, f'{NO_USABLE_ZONE}: {notes}')

    def _with_shortages(self, regions: list[Place]) -> list[Place]:
        by_zone = self.listed_zones is not None
        short = self._shortages(self.listed_regions, by_region=True, by_zone=by_zone)
        if not short:
            return regions
        return [
            structs.replace(one, shortage=self._shortage_of_region(one, short)) for one in regions
        ]

    def _shortage_of_region(
        self, region: Place, short: dict[Location, Shortage]
    ) -> Shortage | None:
        """Return the shortage of a region that refused a node, or whose open zones all did.

        Of several zones, the one whose next probe comes first counts.
        """
        if (region.name, None) in short or self.listed_zones is None or not region.available:
            return short.get((region.name, None))
        usable = self._usable(region)
        opened = [zone for zone in usable if not self.cordon_of(region.name, zone)]
        found = [short[region.name, zone] for zone in opened if (region.name, zone) in short]
        if not found or len(found) < len(opened):
            return None
        return min(found, key=lambda one: one.until)

    def _shortages(
        self,
        listed: Listed | None,
        *,
        by_region: bool,
        by_zone: bool = True,
    ) -> dict[Location, Shortage]:
        """Return the shortages that failed nodes and recorded failures prove, by region and zone.

        Without `by_region` or `by_zone`, all nodes share that part of the location.
        """
        if listed is None or listed.backoff is None:
            return {}

        def locate(node: Node) -> Location:
            region = self.cloud.region_of(node) if by_region else None
            return region, self.cloud.zone_of(node) if by_zone else None

        memory = recorded_failures.memory_of(self.request, self.backoffs)
        nodes = self.request.cluster.nodes
        return shortages_by_place(nodes, memory, locate, listed.backoff, self.now)


def check_cordons(places: Sequence[Place], reason: str, held: Located = NOWHERE) -> None:
    """Check that unusable places are not unusable because of cordons.

    :param places: places of which none can take a node.
    :param reason: the error without its cause.
    :raises NoUsablePlace: some could take a node without their cordons; the text names these.
    """
    cordons = [
        one
        for place in places
        if place.is_opened_without_cordons(held.get(place.name, 0))
        for one in place.cordons
    ]
    if cordons:
        raise cordon.no_open_place(reason, cordons)


def profile_of_new_node(request: CheckRequest) -> Profile | None:
    """Return the profile of the node that a NODE_CREATE makes; None for any other action."""
    if request.action.action != actions.NODE_CREATE or request.action.node is None:
        return None
    return request.action.node.profile or request.cluster.profile


def _listed(listed: Listed | None) -> Sequence[Zone | Region]:
    return listed.places if listed else ()
