"""The rows of the plans by region and zone, with the counts that the reply has in the end."""

from collections.abc import Iterator, Mapping
from typing import Any

from placement_worker.contract.action_data import CREATION, DELETION, ActionData, Change
from placement_worker.contract.model import BindReply, CheckReply

PLANS = ('regions', 'zones')
"""The details of a decision that hold the rows of a plan."""


def rows(reply: CheckReply | BindReply) -> list[dict[str, Any]]:
    """Return the rows of all plans; those that a later policy replaced have a note.

    :raises InvalidInput: the reply has data that no decision has.
    """
    if not isinstance(reply, CheckReply):
        return []
    found: list[dict[str, Any]] = []
    for plan in PLANS:
        planned = [row for decision in reply.decisions for row in _rows(decision.details.get(plan))]
        found += _corrected(planned, reply, plan) if planned else ()
    return found


def _rows(listed: object) -> Iterator[dict[str, Any]]:
    yield from (row for row in (listed if isinstance(listed, list) else ()) if _is_row(row))


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and isinstance(row.get('name'), str)


def _corrected(
    planned: list[dict[str, Any]], reply: CheckReply, plan: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows with the counts of the reply, and rows of the places that it adds.

    The rows stay as they are if the reply has no counts by these places, or if zones of several
    regions have the same name.
    """
    changes = ActionData(reply.action.data).decided((CREATION, DELETION))
    counts = _counts(changes[0], plan) if len(changes) == 1 else None
    names = [row['name'] for row in planned]
    if counts is None or len(set(names)) < len(names):
        yield from planned
        return
    sign = 1 if changes[0].kind == CREATION else -1
    for row in planned:
        yield _with_count(row, counts.get(row['name'], 0), sign)
    for name in sorted(counts.keys() - set(names)):
        yield {'name': name, 'planned': counts[name], 'note': 'of a later policy'}


def _counts(change: Change, plan: str) -> Mapping[str, int] | None:
    return change.zones if plan == 'zones' else change.regions


def _with_count(row: Mapping[str, Any], count: int, sign: int) -> dict[str, Any]:
    """Return a row with another number of planned nodes."""
    was, current = row.get('planned'), row.get('current')
    if was == count or not isinstance(was, int) or not isinstance(current, int):
        return dict(row)
    note = ', '.join(filter(None, (str(row.get('note') or ''), f'{was} before a later policy')))
    return {**row, 'planned': count, 'final': current + sign * count, 'note': note}
