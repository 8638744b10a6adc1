"""The output of commands: tables and colors for people, JSON and YAML for scripts.

Every text is escaped: requests and decision logs may hold escape characters, by which an attacker
could control the terminal of an operator.
"""

import json
import os
from argparse import ArgumentParser
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TextIO

import msgspec
import prettytable
import yaml

from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckReply, CheckRequest, Cluster, Decision
from placement_worker.contract.rpc import LOAD_BALANCING
from placement_worker.decisions.explanations import PLANS
from placement_worker.errors import InvalidInput
from placement_worker.formats import text as details
from placement_worker.formats.text import counted, escaped, escaped_lines, listed

Style = Literal['bold', 'dim', 'red', 'green', 'yellow']
_CODES: Mapping[Style, int] = {'bold': 1, 'dim': 2, 'red': 31, 'green': 32, 'yellow': 33}
FORMATS = ('table', 'json', 'yaml')
INDENT = '    '
MAX_NODES = 20  # of a list for people; -f json has all
# Columns of plans that say nothing about a deletion: an unavailable place gives nodes, too.
HIDDEN_IN_DELETIONS = frozenset({'usable'})
_STYLES: Mapping[str, Style] = {
    'OK': 'green', 'ERROR': 'red', 'APPLIED': 'green', 'SKIPPED': 'dim', 'FAILED': 'red',
}  # fmt: skip


class Paint:
    def __init__(self, on: bool) -> None:
        self._on = on

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> 'Paint':
        is_refused = bool(environ.get('NO_COLOR')) or environ.get('TERM') == 'dumb'
        return cls(stream.isatty() and not is_refused)

    def __call__(self, text: str, style: Style) -> str:
        text = escaped(text)
        return f'\x1b[{_CODES[style]}m{text}\x1b[0m' if self._on and text else text


def add_format_argument(parser: ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    first = formats[0]
    parser.add_argument('-f', '--format', choices=formats, default=first, help=f'default: {first}')


def check_lines(reply: CheckReply, request: CheckRequest, paint: Paint) -> list[str]:
    data = reply.action.data
    title = f'{request.action.action} of {cluster_words(request.cluster)}, {request.target}: '
    plan = _plan(reply) if request.target == 'BEFORE' and data['status'] == 'OK' else []
    return [
        *warnings(reply.warnings, paint),
        escaped(title) + styled_status(data['status'], paint),
        escaped(data['reason']),
        *plan,
        *_decisions(reply, paint),
        '',
    ]


def styled_status(status: str, paint: Paint) -> str:
    return paint(status, _STYLES[status])


def cluster_words(cluster: Cluster) -> str:
    return f'cluster {cluster.name or cluster.id} ({counted(len(cluster.nodes), "node")})'


def drain_wait_s(data: Mapping[str, Any], decisions: Sequence[Decision]) -> int:
    """Return the seconds from the removal of members to the deletion of their nodes, or 0."""
    leaving = any(
        decision.policy_type.startswith(f'{LOAD_BALANCING}-') and decision.details.get('removed')
        for decision in decisions
    )
    try:
        return (ActionData(data).deletion.grace_period or 0) if leaving else 0
    except InvalidInput:  # versions before 1.4 of load balancing do not read the grace period
        return 0


def drain_sentence(seconds: int) -> str:
    return f'members leave now, nodes are deleted {seconds} s later'


def shortened(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MAX_NODES
    return [*lines[:MAX_NODES], *[f'{INDENT}and {more} more; -f json has all'] * (more > 0)]


def warnings(sentences: Sequence[str], paint: Paint) -> list[str]:
    return [paint(f'Warning: {sentence}', 'yellow') for sentence in sentences]


def document(data: object, form: str) -> str:
    if form == 'json':
        return escaped_lines(msgspec.json.format(msgspec.json.encode(data)).decode())
    if form == 'jsonl':
        return escaped(msgspec.json.encode(data).decode())
    builtins = msgspec.to_builtins(data)
    return yaml.safe_dump(builtins, explicit_start=True, sort_keys=False).rstrip('\n')


def _plan(reply: CheckReply) -> list[str]:
    data, lines = reply.action.data, []
    for kind, verb in ((CREATION, 'To create'), (DELETION, 'To delete')):
        change = data.get(kind)
        if not isinstance(change, dict):
            continue
        lines.append(f'{verb}: {counted(change.get("count", "?"), "node")}')
        plans = {key: change[key] for key in PLANS if isinstance(change.get(key), dict)}
        lines += [f'{INDENT}{key}: {_counts(plan)}' for key, plan in plans.items()]
        if isinstance(change.get('candidates'), list):
            lines.append(f'{INDENT}candidates: {listed(change["candidates"], limit=MAX_NODES)}')
    if wait_s := drain_wait_s(data, reply.decisions):
        lines.append(f'{INDENT}wait: {drain_sentence(wait_s)}')
    return [escaped(line) for line in lines]


def _decisions(reply: CheckReply, paint: Paint) -> list[str]:
    lines = []
    hidden = HIDDEN_IN_DELETIONS if DELETION in reply.action.data else ()
    for number, decision in enumerate(reply.decisions, start=1):
        title = (
            f'{number}. {decision.policy_name or decision.policy_id} ({decision.policy_type}, '
            f'priority {decision.priority}): '
        )
        outcome = styled_status(decision.outcome, paint)
        lines += ['', f'{escaped(title)}{outcome} in {decision.elapsed_ms:.1f} ms']
        lines.append(escaped(f'{INDENT}{decision.reason}'))
        for key, value in decision.details.items():
            lines += detail(key, value, hidden if key in PLANS else ())
    return lines


def detail(key: str, value: Any, hidden: Collection[str] = ()) -> list[str]:
    if not details.is_shown_detail(key, value):
        return []
    if isinstance(value, list) and all(isinstance(row, Mapping) for row in value):
        lines = table(value, hidden).splitlines()
        return [escaped(f'{INDENT}{key}:'), *(INDENT + line for line in lines)]
    return [escaped(f'{INDENT}{key}: {_counts(value) if isinstance(value, Mapping) else value}')]


def _counts(counts: Mapping[str, Any]) -> str:
    return ', '.join(f'{name} {count}' for name, count in counts.items())


def table(rows: Sequence[Mapping[str, Any]], hidden: Collection[str] = ()) -> str:
    """Return a table with a column per key that is not hidden.

    Columns of numbers are aligned right, and the items of a list take a line each.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in keys if key not in hidden]
    drawn = prettytable.PrettyTable([escaped(column.replace('_', ' ')) for column in columns])
    for title, column in zip(drawn.field_names, columns, strict=True):
        drawn.align[title] = 'r' if all(details.is_number(row.get(column)) for row in rows) else 'l'
    for row in rows:
        drawn.add_row([_cell_of_plan(column, row.get(column)) for column in columns])
    return str(drawn.get_string())


def _cell_of_plan(column: str, value: Any) -> Any:
    return cell(None if column == 'cap' and details.is_number(value) and value < 0 else value)


def cell(value: Any, separator: str = '\n') -> Any:
    """Return a number for its alignment, or escaped text, in which items are separated."""
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if value is None:
        return '-'
    if details.is_number(value):
        return value
    items = value if isinstance(value, list) else [value]
    texts = (json.dumps(item) if isinstance(item, Mapping) else str(item) for item in items)
    return separator.join(map(escaped, texts))
