"""Places: the zones or regions that a policy lists, and the nodes in them."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, TypeVar

from msgspec import Struct, structs

from placement_worker.planning.cordon import Cordon
from placement_worker.planning.shortage import Shortage

NO_CAP = -1
NO_PLACE = '(no known place)'
UNKNOWN = 'unknown to the cloud'
Located = Mapping[str | None, int]
"""Place -> number of nodes there; None stands for an unknown place."""
NOWHERE: Located = MappingProxyType({})
"""No nodes in any place."""
Ranks = Mapping[str | None, Sequence[int]]
"""Place -> the ranks of its healthy, unprotected nodes in the order of all victims, ascending."""
NO_RANKS: Ranks = MappingProxyType({})
"""No order of victims: no deletion policy, or a random choice."""
Counts = Counter[str | None]
"""A mutable `Located`; a missing place has no nodes."""


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
    note: str = 'unavailable'
    cordons: tuple[Cordon, ...] = ()
    cordon_note: str = ''
    evacuated: bool = False
    shortage: Shortage | None = None

    @property
    def obstacle(self) -> str:
        """Why nodes cannot be created there, or why at most one can; else an empty string.

        A cordon is no obstacle where the cloud has no room anyway: lifting it would not help.
        """
        if self.available:
            return str(self.shortage or '')
        return (self.note or self.cordon_note) if self.known else UNKNOWN

    @property
    def remark(self) -> str:
        """The notes of the cloud and of cordons on a known place, for the row of the plan."""
        note = '' if self.available else self.note
        return ', '.join(filter(None, (note, self.cordon_note)))

    def is_opened_without_cordons(self, held: int = 0) -> bool:
        """Return whether a node could be created if the cordons were lifted."""
        has_room = self.cap < 0 or held < self.cap
        is_short = self.shortage is not None and not self.shortage.room
        return bool(self.cordons) and not self.note and has_room and not is_short

    def cordoned(self, cordon: Cordon | None) -> 'Place':
        """Return the place with its own cordon; a cordon does not hide that a place is unknown."""
        if cordon is None or not self.known:
            return self
        return structs.replace(self.closed([cordon], cordon.note), evacuated=cordon.evacuate)

    def closed(self, cordons: Sequence[Cordon], note: str) -> 'Place':
        """Return the place with cordons, which keep nodes from being created there."""
        return structs.replace(
            self,
            available=False,
            note='' if self.available else self.note,
            cordons=tuple(cordons),
            cordon_note=note,
        )


T = TypeVar('T', bound=Hashable)


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """The nodes of a cluster by place, before the action.

    :ivar groups: in the order in which they leave; the last one has the healthy nodes.
    :ivar staying: the protected nodes, which never leave.
    :ivar ranks: see `Ranks`; they break ties between places.
    """

    groups: Sequence[Mapping[T, int]]
    staying: Mapping[T, int] = field(default_factory=dict)
    ranks: Mapping[T, Sequence[int]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of nodes in all places."""
        return sum(sum(group.values()) for group in (*self.groups, self.staying))

    def unplaced(self, unknown: T) -> int:
        """Return the number of nodes in an unknown place."""
        return sum(group.get(unknown, 0) for group in (*self.groups, self.staying))


def total(groups: Sequence[Located]) -> Counts:
    """Return the number of nodes of all groups by place."""
    found: Counts = Counter()
    for group in filter(None, groups):
        found.update(group)
    return found


def first_rank(ranks: Ranks, place: str) -> float:
    """Return the rank of the next victim in a place; a place without one comes last."""
    return next(iter(ranks.get(place, ())), math.inf)
