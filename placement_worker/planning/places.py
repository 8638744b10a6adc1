"""Places: the zones or regions that a policy lists, their nodes, and what closes them.

A place may be unknown to the cloud, unavailable, cordoned by an operator, short of capacity or at
its cap. The planners must treat these states apart: nodes leave an evacuated place first, a short
one may get one node as a probe, and an error must name the cause whose removal would help.
"""

import datetime
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct, structs

from placement_worker.errors import NoUsablePlace
from placement_worker.formats.text import counted, day_or_time, escaped, listed, shortened
from placement_worker.planning.shortage import Shortage

NO_CAP = -1
NO_PLACE = '(no known place)'
UNKNOWN = 'unknown to the cloud'
# The maximum lengths of the texts of a cordon, in characters.
MAX_NAME, MAX_REASON = 255, 200
_LISTED = 10  # cordons that an error names
_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
T = TypeVar('T', bound=Hashable)

# Place -> number of nodes there; None stands for an unknown place.
NodeCounts = Mapping[str | None, int]
NOWHERE: NodeCounts = MappingProxyType({})
# A mutable `NodeCounts`; a missing place has no nodes.
Counts = Counter[str | None]
# Place -> ranks of its healthy, unprotected nodes (`victims.Members.ranks`), ascending. Empty if
# victims are random.
Ranks = Mapping[str | None, Sequence[int]]


class CordonedPlace(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A zone or a whole region; without `region`, the zones of that name in every region."""

    zone: _Name | None = None
    region: _Name | None = None

    def __post_init__(self) -> None:
        if self.zone is None and self.region is None:
            raise ValueError('Expected `zone`, `region` or both, got none')

    @property
    def key(self) -> tuple[str | None, str | None]:
        """Region and zone, the identity of the place."""
        return self.region, self.zone

    @property
    def place(self) -> str:
        """The place in words, e.g. "zone az1 of region RegionOne"."""
        zone = f'zone {shortened(self.zone)}' if self.zone else ''
        region = f'region {shortened(self.region)}' if self.region else ''
        return ' of '.join(filter(None, (zone, region)))


class Cordon(CordonedPlace, frozen=True, omit_defaults=True, kw_only=True):
    """A place that an operator closes to new nodes.

    `until`: the cordon is in force before this time. `evacuate`: nodes of the place leave first
    when nodes are deleted.
    """

    until: Annotated[datetime.datetime, Meta(tz=True)]
    reason: Annotated[str, Meta(max_length=MAX_REASON)] = ''
    evacuate: bool = False

    def __str__(self) -> str:
        return f'{self.place} is {self.note}'

    @property
    def note(self) -> str:
        reason = f' ({self.reason})' if self.reason else ''
        return f'cordoned until {day_or_time(self.until)}{reason}'

    def applies_in(self, region: str | None) -> bool:
        return self.region in (None, region)

    def covers(self, region: str | None, zone: str | None) -> bool:
        return self.applies_in(region) and self.zone in (None, zone)


def cordons_in_force(cordons: Iterable[Cordon], now: datetime.datetime) -> tuple[Cordon, ...]:
    return tuple(cordon for cordon in cordons if cordon.until > now)


def covering_cordon(
    cordons: Sequence[Cordon], region: str | None, zone: str | None
) -> Cordon | None:
    """Return the covering cordon that ends last; it evacuates if any of them does."""
    covering = [cordon for cordon in cordons if cordon.covers(region, zone)]
    if not covering:
        return None
    last = max(covering, key=lambda cordon: cordon.until)
    return structs.replace(last, evacuate=any(cordon.evacuate for cordon in covering))


class Place(Struct, frozen=True):
    """A zone or region that a policy lists.

    `known`: the cloud has it. `available`: nodes can be created there now; this implies `known`.
    `note`: why the cloud lets no node be created there. `cordons`: those in force that close it;
    `cordon_note` is what they say. `evacuated`: its nodes leave first, as those of unlisted places
    do. `shortage`: why it gets at most one node now, None if it has room.
    """

    name: str
    weight: int = 100
    cap: int = NO_CAP
    known: bool = True
    available: bool = True
    note: str = ''
    cordons: tuple[Cordon, ...] = ()
    cordon_note: str = ''
    evacuated: bool = False
    shortage: Shortage | None = None

    @property
    def obstacle(self) -> str:
        """Why no node can be created; omits a cordon if the cloud has no room either."""
        if self.available:
            return str(self.shortage or '')
        return (self.note or self.cordon_note) if self.known else UNKNOWN

    def would_open_without_cordons(self, held: int) -> bool:
        has_room = self.cap < 0 or held < self.cap
        is_short = self.shortage is not None and not self.shortage.room
        return bool(self.cordons) and not self.note and has_room and not is_short

    def cordoned(self, cordon: Cordon | None) -> 'Place':
        """An unknown place stays unknown, cordoned or not."""
        if cordon is None or not self.known:
            return self
        return structs.replace(self.closed([cordon], cordon.note), evacuated=cordon.evacuate)

    def closed(self, cordons: Sequence[Cordon], note: str) -> 'Place':
        return structs.replace(self, available=False, cordons=tuple(cordons), cordon_note=note)


class Held(Struct, Generic[T], frozen=True):
    """The nodes of a cluster by place, before the action.

    :ivar groups: nodes that may leave, first group first; a creation has one group.
    :ivar staying: the protected nodes, which never leave.
    :ivar ranks: see `Ranks`; they break ties between places.
    """

    groups: Sequence[Mapping[T, int]]
    staying: Mapping[T, int] = msgspec.field(default_factory=dict)
    ranks: Mapping[T, Sequence[int]] = msgspec.field(default_factory=dict)

    def nodes_in(self, place: T) -> int:
        return sum(group.get(place, 0) for group in (*self.groups, self.staying))

    @property
    def total(self) -> Counter[T]:
        """The nodes of all groups, and those that stay."""
        counts: Counter[T] = Counter(self.staying)
        for group in self.groups:
            counts.update(group)
        return counts


def first_rank(ranks: Ranks, place: str) -> float:
    return next(iter(ranks.get(place, ())), math.inf)


def raise_if_only_cordons_close(
    places: Sequence[Place], reason: str, held: NodeCounts = NOWHERE
) -> None:
    """:raises NoUsablePlace: without its cordons, one of the places could get a node."""
    cordons = [
        cordon
        for place in places
        if place.would_open_without_cordons(held.get(place.name, 0))
        for cordon in place.cordons
    ]
    if not cordons:
        return
    different = list(dict.fromkeys(cordons))
    details = [
        {'place': cordon.place, 'until': day_or_time(cordon.until), 'reason': cordon.reason}
        for cordon in different
    ]
    text = f'{reason.rstrip(".")}: {listed(different, str, _LISTED)}'
    raise NoUsablePlace(text, {'cordons': details})


def evacuation_warnings(places: Sequence[Place], staying: NodeCounts, noun: str) -> list[str]:
    return [
        f'Cannot evacuate {noun} {escaped(shortened(place.name))}: '
        f'{counted(staying[place.name], "protected node")} must not be deleted there'
        for place in places
        if place.evacuated and staying.get(place.name)
    ]


def shortage_warnings(places: Sequence[Place], noun: str, region: str | None = None) -> list[str]:
    of_region = f' of region {escaped(shortened(region))}' if region else ''
    return [
        f'{noun.capitalize()} {escaped(shortened(place.name))}{of_region} is {place.shortage} '
        f'({place.shortage.cause})'
        for place in places
        if place.available and place.shortage
    ]
