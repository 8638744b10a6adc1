"""The properties of the region placement policy."""

from typing import Annotated

from msgspec import Meta, Struct

from placement_worker.planning.places import NO_CAP
from placement_worker.policies.on_shortage import OnShortage, OnShortageProperty
from placement_worker.policies.placement_properties import PlacementProperties
from placement_worker.policies.shared_placement import HEAVIEST, check_distinct
from placement_worker.policies.spread import Spread, SpreadProperty


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
