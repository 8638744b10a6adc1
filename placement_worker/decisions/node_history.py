"""The history of one node in decision logs: its place, and why it was chosen or spared."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from placement_worker.contract import actions
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import BindRequest, CheckRequest, Node
from placement_worker.decisions import deletion_history, history_events, log_records
from placement_worker.decisions.history_events import Event, Record
from placement_worker.decisions.log_records import MALFORMED, InvalidLine, decoded
from placement_worker.policies.base import AFTER, BEFORE
from placement_worker.policies.registry import Registry


def read(paths: Sequence[str], node: str, registry: Registry) -> Iterator[Event | InvalidLine]:
    """Yield the events of a node in the order of time; lines that are no records come first.

    The plan of a new node precedes its id. If a log has the creation of the node, all logs are
    therefore read again, for that plan.

    :param node: an id or a name.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    events: list[Event] = []
    created: dict[str, list[Node]] = defaultdict(list)
    for path, number, found in log_records.lines(paths, [node]):
        try:
            record = decoded(found)
            events += _events(record, node, registry)
            _add_new(created, record, node)
        except MALFORMED as exc:
            yield InvalidLine(path, number, str(exc))
    for _, _, found in log_records.lines(paths, created):
        try:
            events += _of_creation(decoded(found), created)
        except MALFORMED:  # reported above if it concerns the node
            continue
    yield from sorted(events, key=lambda event: event.at)


def clusters(paths: Sequence[str], node: str) -> list[str]:
    """Return the clusters whose requests have a node, by name.

    :param node: an id or a name.
    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    found = set()
    for _, _, entry in log_records.lines(paths, [node]):
        try:
            cluster = decoded(entry).request.cluster
        except MALFORMED:
            continue
        if _named(cluster.nodes, node):
            found.add(cluster.name or cluster.id)
    return sorted(found)


def _events(record: Record, name: str, registry: Registry) -> list[Event]:
    """Return the events of the nodes with this id or name.

    :raises InvalidInput: the record has data that no decision has.
    """
    check = record.request
    if isinstance(check, BindRequest):
        return list(history_events.pool_changes(record, _named(check.cluster.nodes, name)))
    nodes = _nodes_of(check, name)
    if check.dry_run or not nodes:
        return []
    events = list(history_events.pool_changes(record, nodes))
    if check.target != BEFORE:
        return events
    if history_events.data_of_action(record).get('status') == 'ERROR':
        events += history_events.failures(record, check.action.node, nodes)
    elif check.action.action == actions.NODE_CREATE:
        events += (history_events.placed(record, node) for node in nodes)
    else:
        events += deletion_history.events(record, nodes, registry)
        events += history_events.recorded(record, nodes)
    return events


def _nodes_of(check: CheckRequest, name: str) -> list[Node]:
    """Return the nodes of a check with this id or name; the action's node comes first."""
    own = [check.action.node] if check.action.node else []
    return _named([*own, *check.cluster.nodes], name)


def _named(nodes: Iterable[Node], name: str) -> list[Node]:
    found: dict[str, Node] = {}
    for node in nodes:
        if name in (node.id, node.name):
            found.setdefault(node.id, node)
    return list(found.values())


def _add_new(created: dict[str, list[Node]], record: Record, name: str) -> None:
    """Add the nodes with this id or name that the action of an AFTER check has created."""
    check = record.request
    if isinstance(check, CheckRequest) and check.target == AFTER:
        new = set(ActionData(check.action.data).creation.nodes)
        found = [node for node in _nodes_of(check, name) if node.id in new]
        if found:
            created[check.action.id] = found


def _of_creation(record: Record, created: Mapping[str, Sequence[Node]]) -> Iterator[Event]:
    """Yield the events of new nodes, from the check that planned their places.

    :param created: id of the action -> the nodes that it has created.
    """
    check = record.request
    if isinstance(check, CheckRequest) and check.target == BEFORE and not check.dry_run:
        for node in created.get(check.action.id, ()):
            yield history_events.placed(record, node)
