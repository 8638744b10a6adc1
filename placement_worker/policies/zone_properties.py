"""The properties of the zone placement policy."""

from typing import Annotated

from msgspec import Meta, Struct

from placement_worker.policies.on_shortage import OnShortage, OnShortageProperty
from placement_worker.policies.placement_properties import PlacementProperties
from placement_worker.policies.shared_placement import HEAVIEST, check_distinct
from placement_worker.policies.spread import Spread, SpreadProperty


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
