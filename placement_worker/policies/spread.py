"""The property `spread` of the placement policies: how far a plan may be from the ideal."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from placement_worker.contract.action_data import CREATION
from placement_worker.errors import TooSkewed
from placement_worker.planning import skew
from placement_worker.planning.places import Located, Place
from placement_worker.planning.plan_rows import Plan
from placement_worker.planning.sizing import Size
from placement_worker.planning.skew import Skew
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


def measured(
    spread: Spread,
    size: Size,
    places: Sequence[Place],
    plan: Plan,
    groups: Sequence[Located],
    staying: Located,
) -> Skew | None:
    """Return the skew of a plan, or None if the policy tolerates it.

    :param places: the listed places; the other parameters are those of the planner.
    """
    found = skew.of_plan(size.kind, spread.max_skew, places, plan, groups, staying)
    return found if found.beyond else None


def check(spread: Spread, size: Size, sentences: Sequence[str], details: Mapping[str, Any]) -> None:
    """Check that the policy does not refuse a creation because of its skew.

    :param sentences: about the places beyond the allowed skew, at least one.
    :param details: the plan, for the details of the decision.
    :raises TooSkewed: the mode is strict; the text is the first sentence.
    """
    if spread.mode == 'strict' and size.kind == CREATION:
        raise TooSkewed(sentences[0], details)
