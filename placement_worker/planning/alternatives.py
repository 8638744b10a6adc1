"""The places to try next if a planned node cannot be created."""

from collections.abc import Sequence
from fractions import Fraction

from placement_worker.planning.places import NO_CAP, NO_RANKS, Place, Ranks, first_rank
from placement_worker.planning.plan_rows import Plan, Row

MOST = 10
"""The number of alternatives of a place, which bounds the size of the reply."""


def alternatives(
    plan: Plan, places: Sequence[Place], ranks: Ranks = NO_RANKS
) -> dict[str, list[str]]:
    """Return the planned places by name, each with the other places in the order of preference.

    The first alternative is the place to which the planner would give the node if the place had one
    node less, the second one is next best, and so on. An alternative has room for all nodes of the
    plan, because each of them may fail: no cap is exceeded, whatever fails. Places that are short
    of capacity are therefore no alternatives. Places without alternatives are left out.

    :param plan: the plan of a creation.
    :param places: the listed places, in the order of the spec, which breaks ties.
    :param ranks: break ties before the order of the spec does, as in the plan.
    """
    rows = {row.name: row for row in plan.rows}
    count = sum(plan.counts.values())
    open_places = [place for place in places if _has_room(place, rows[place.name], count)]
    order = {place.name: i for i, place in enumerate(places)}
    best_first = sorted(
        open_places,
        key=lambda place: (
            Fraction(2 * rows[place.name].final + 1, place.weight),
            -place.weight,
            first_rank(ranks, place.name),
            order[place.name],
        ),
    )
    names = [place.name for place in best_first[: MOST + 1]]
    found = {name: [one for one in names if one != name][:MOST] for name in plan.counts}
    return {name: others for name, others in found.items() if others}


def _has_room(place: Place, row: Row, count: int) -> bool:
    if not place.available or place.shortage:
        return False
    return place.cap == NO_CAP or row.final + count <= place.cap
