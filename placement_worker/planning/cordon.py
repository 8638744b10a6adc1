"""Cordons: zones and regions in which an operator lets no node be created until a time."""

import datetime
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct, structs

from placement_worker.errors import NoUsablePlace
from placement_worker.formats import text as moments
from placement_worker.formats.text import listed, shortened

LISTED = 10
"""The number of cordons that an error names."""
MAX_NAME, MAX_REASON = 255, 200
"""The maximum lengths of a name and of a reason, in characters."""
Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]


class Cordon(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A zone, or a region with all its zones, that takes no new node until a time.

    `zone`: without a `region`, the zones of that name in all regions. `until`: the cordon is in
    force before this time. `evacuate`: nodes of the place leave first when nodes are deleted.
    """

    zone: Name | None = None
    region: Name | None = None
    until: Annotated[datetime.datetime, Meta(tz=True)]
    reason: Annotated[str, Meta(max_length=MAX_REASON)] = ''
    evacuate: bool = False

    def __post_init__(self) -> None:
        if self.zone is None and self.region is None:
            raise ValueError('Expected `zone`, `region` or both, got none')

    def __str__(self) -> str:
        return f'{self.place} is {self.note}'

    @property
    def place(self) -> str:
        """The place in words, e.g. "zone az1 of region RegionOne"."""
        zone = f'zone {shortened(self.zone)}' if self.zone else ''
        region = f'region {shortened(self.region)}' if self.region else ''
        return ' of '.join(filter(None, (zone, region)))

    @property
    def note(self) -> str:
        """The end and the reason, e.g. "cordoned until 2026-12-01 (new switches)"."""
        reason = f' ({self.reason})' if self.reason else ''
        return f'cordoned until {moments.day_or_time(self.until)}{reason}'

    def covers(self, region: str | None, zone: str | None) -> bool:
        """Return whether a zone is cordoned, or a whole region; `zone` None asks for the latter."""
        return self.region in (None, region) and self.zone in (None, zone)


def in_force(cordons: Iterable[Cordon], now: datetime.datetime) -> tuple[Cordon, ...]:
    """Return the cordons that have not ended."""
    return tuple(one for one in cordons if one.until > now)


def covering(cordons: Sequence[Cordon], region: str | None, zone: str | None) -> Cordon | None:
    """Return the cordon of a place, or None; see `Cordon.covers`.

    Of several cordons, the one that ends last counts. It evacuates if one of them does.
    """
    found = [one for one in cordons if one.covers(region, zone)]
    if not found:
        return None
    last = max(found, key=lambda one: one.until)
    return structs.replace(last, evacuate=any(one.evacuate for one in found))


def no_open_place(reason: str, cordons: Iterable[Cordon]) -> NoUsablePlace:
    """Return the error that no place can take nodes because of cordons.

    :param reason: the error without its cause.
    """
    found = list(dict.fromkeys(cordons))
    details = [
        {'place': one.place, 'until': moments.day_or_time(one.until), 'reason': one.reason}
        for one in found
    ]
    text = f'{reason.rstrip(".")}: {listed(found, str, LISTED)}'
    return NoUsablePlace(text, {'cordons': details})
