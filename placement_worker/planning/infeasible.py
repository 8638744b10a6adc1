"""The error of a plan that cannot be made, with the numbers that explain it."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.errors import NoFeasiblePlan
from placement_worker.formats import text
from placement_worker.formats.text import counted, escaped, listed, shortened
from placement_worker.planning.shortage import Shortage, last_failed

QUOTED = 200  # characters of an error of Nova that the reason of a check quotes
INFEASIBLE = 'There is no feasible plan to handle all nodes.'
Row = tuple[str, int, int, str]
"""A place: its name, its nodes, its cap, and why nodes cannot be created there."""


def infeasible(asked: int, room: Mapping[str, int], places: Sequence[Row]) -> NoFeasiblePlan:
    """Return the error; the decision in the reply has its details.

    :param asked: the number of nodes to create or to delete.
    :param room: place -> how many nodes can be created or deleted there, if any.
    """
    return NoFeasiblePlan(INFEASIBLE, _details(asked, room, places))


def too_many(
    asked: int, held: int, room: Mapping[str, int], places: Sequence[Row]
) -> NoFeasiblePlan:
    """Return the error of a removal of more nodes than there are.

    :param held: the number of nodes; other parameters are those of `infeasible`.
    """
    warning = (
        f'The action asks to remove {counted(asked, "node")}, but the placement policy finds {held}'
    )
    return NoFeasiblePlan(INFEASIBLE, _details(asked, room, places), None, [warning])


def short_of_capacity(
    asked: int, room: Mapping[str, int], places: Sequence[Row], shortages: Sequence[Shortage]
) -> NoFeasiblePlan:
    """Return the error of a creation that fails because places are short of capacity.

    The text quotes the latest failure, since some errors of Nova have other causes: a bad image
    makes the build fail on each host, and Nova reports "Exceeded maximum number of retries".

    :param shortages: those of the places; other parameters are those of `infeasible`.
    """
    possible = sum(room.values())
    first = f'Only {possible} of {counted(asked, "node")}' if possible else 'No node'
    causes = [(name, note) for name, _, _, note in places if note]
    obstacles = listed(causes, lambda one: f'{escaped(shortened(one[0]))} ({one[1]})')
    later = [one.until for one in shortages if not one.room]
    probe = f'; the next probe is possible at {text.day_or_time(min(later))}' if later else ''
    failed = last_failed(one.failed for one in shortages if one.failed)
    cause = escaped(shortened(failed.status_reason or '', QUOTED)) if failed else ''
    quote = f'; the latest failure was "{cause}"' if cause else ''
    details = _details(asked, room, places)
    return NoFeasiblePlan(f'{first} can be created: {obstacles}{quote}{probe}', details)


def _details(asked: int, room: Mapping[str, int], places: Sequence[Row]) -> dict[str, Any]:
    possible = sum(room.values())
    rows = [
        {
            'name': name,
            'current': current,
            'cap': cap,
            'possible': room.get(name, 0),
            'note': note,
        }
        for name, current, cap, note in places
    ]
    numbers = {'asked': asked, 'possible': possible, 'missing': asked - possible}
    return {**numbers, 'places': rows}
