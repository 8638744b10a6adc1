"""The property `spread` of the placement policies: how far a plan may be from the ideal."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from placement_worker.policies.shared_placement import HEAVIEST


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


SpreadProperty = Annotated[
    Spread, Meta(description='How evenly nodes are spread over the places. New in 1.1.')
]
