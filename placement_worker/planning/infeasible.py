"""The error of a plan that cannot be made, with the numbers that explain it."""

from collections.abc import Mapping, Sequence

from placement_worker.errors import NoFeasiblePlan

INFEASIBLE = 'There is no feasible plan to handle all nodes.'
Row = tuple[str, int, int, str]
"""A place: its name, its nodes, its cap, and why nodes cannot be created there."""


def infeasible(asked: int, room: Mapping[str, int], places: Sequence[Row]) -> NoFeasiblePlan:
    """Return the error; the decision in the reply has its details.

    :param asked: the number of nodes to create or to delete.
    :param room: place -> how many nodes can be created or deleted there, if any.
    """
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
    return NoFeasiblePlan(INFEASIBLE, {**numbers, 'places': rows})
