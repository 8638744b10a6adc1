"""The events of a deletion: which nodes were victims, which were spared, and why.

Most requests do not ask for an explanation of each victim. Their decisions are therefore made again
from the records, with all explanations.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from placement_worker.cloud.snapshot import counts_in_words
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import CheckReply, CheckRequest, Node
from placement_worker.decisions import replay, unnamed_victims, victim_choosers
from placement_worker.decisions.history_events import Event, Record, data_of_action
from placement_worker.decisions.records import Entry
from placement_worker.formats.text import counted, shortened
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.registry import Registry
from placement_worker.policies.victim_selection import KEPT

EXPLAINED = ('victims', 'spared', 'protected_nodes')
"""The details of a decision that have a row per node."""


def events(record: Record, nodes: Iterable[Node], registry: Registry) -> Iterator[Event]:
    """Yield whether the nodes are victims of the action, with their ranks."""
    candidates = ActionData(data_of_action(record)).deletion.candidates
    if candidates is None:
        yield from _unnamed(record, nodes)
        return
    rows = _rows_of_nodes(record.entry, registry)
    number = counted(len(candidates), 'victim')
    for node in nodes:
        row = rows.get(node.id, {})
        if node.id in candidates:
            rank = _rank(candidates.index(node.id) + 1, _reason(record, node, row))
            yield record.event('chosen', node, f'{rank} among {number}', plans=True)
        elif 'until' in row:
            yield record.event('spared', node, _protection(row), plans=True)
        else:
            rank = _rank(row.get('rank', 'unknown'), row.get('reason'))
            yield record.event('spared', node, f'{rank} after {number}', plans=True)


def _unnamed(record: Record, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield that the engine chooses the victims, if the action deletes nodes without naming any."""
    request = record.request
    action = request.action.action if isinstance(request, CheckRequest) else ''
    counts = unnamed_victims.by_place(action, data_of_action(record))
    places = ', '.join(counts_in_words(counts))
    for node in nodes if counts else ():
        number = counted(counts.total(), 'victim')
        text = f'{number} without a name ({places}): no policy chose, so the engine did'
        yield record.event('unnamed', node, text, plans=True)


def _rank(rank: object, reason: object) -> str:
    return f'rank {rank} ({reason})' if reason else f'rank {rank}'


def _reason(record: Record, node: Node, row: Mapping[str, Any]) -> str:
    """Return the reason of a victim, with the policy that chose it if it is known."""
    reason = str(row.get('reason', ''))
    request, reply = record.request, record.reply
    if reason not in ('', KEPT) or not isinstance(request, CheckRequest):
        return reason
    return victim_choosers.reason(node.id, request, cast(CheckReply, reply)) or reason


def _protection(row: Mapping[str, Any]) -> str:
    """Return the protection of a node in words, with its end and its reason."""
    until = f' until {row["until"]}' if row['until'] else ''
    reason = f' ({shortened(str(row["reason"]))})' if row.get('reason') else ''
    return f'protected{until}{reason}'


def _rows_of_nodes(entry: Entry, registry: Registry) -> Mapping[str, Mapping[str, Any]]:
    """Return node id -> its row in the explanation of a deletion.

    The deletion policy has rows of the victims, and of the first spared and the first protected
    nodes. The rows of the load-balancing policies give the reasons of the victims that they spare.
    A record that cannot be decided again has the rows that it was written with, if any.
    """
    rows: dict[str, dict[str, Any]] = {}
    for decision in replay.explained(entry, registry)['decisions']:
        if decision['policy_type'].rpartition('-')[0] in (Deletion.name, LoadBalancing.name):
            for key in EXPLAINED:
                for row in _rows(decision['details'].get(key)):
                    rows[row['id']] = {**rows.get(row['id'], {}), **row}
    return rows


def _rows(found: object) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of nodes in a list, whatever else an edited record holds."""
    for row in found if isinstance(found, list) else ():
        if isinstance(row, dict) and isinstance(row.get('id'), str):
            yield row
