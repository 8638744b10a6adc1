"""The properties of zone and region placement, in each version of the types.

The places of a check are resolved from the properties of both policies at once, so that neither
policy imports the other.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from placement_worker.planning.places import NO_CAP

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
