"""Requests with line breaks, escape sequences and other invisible characters in one field."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.factories import Json, changed
from tests.malformed_requests import GOOD

CHARACTERS = {
    'line feed': '\n',
    'carriage return': '\r',
    'tabulator': '\t',
    'null': '\0',
    'bell': '\a',
    'escape': '\x1b[2J',
    'unit separator': '\x1f',
    'delete': '\x7f',
    'C1 next line': '\x85',
    'C1 control sequence introducer': '\x9b2J',
    'line separator': '\u2028',
    'paragraph separator': '\u2029',
    'right-to-left override': '\u202e',
    'isolate': '\u2066',
    'zero-width space': '\u200b',
    'tag': '\U000e0041',
}
FORGED = '2026-01-31 12:00:00.000 1 INFO placement_worker.handlers.service [-] forged'
TEXT = 'evil' + ''.join(CHARACTERS.values()) + f'\n{FORGED}\n'

# The paths of the fields; `(key)` is a hostile key.
FIELDS = """
    target explain dry_run expires_at unknown (key)
    action.id action.action action.inputs.count action.inputs.(key) action.data.deletion
    action.data.status action.data.(key) action.node
    cluster.id cluster.name cluster.project cluster.user cluster.min_size cluster.profile.type
    cluster.profile.properties cluster.data.(key) cluster.(key)
    cluster.nodes.0.id cluster.nodes.0.name cluster.nodes.0.status cluster.nodes.0.created_at
    cluster.nodes.0.data.placement.zone cluster.nodes.0.data.placement.region_name
    cluster.nodes.0.index cluster.nodes.0.details.addresses.(key)
    policies.0.id policies.0.name policies.0.priority policies.0.spec.type
    policies.0.spec.version policies.0.spec.properties.zones.0.name
    policies.0.spec.properties.(key) policies.1.spec.properties.criteria
    policies.2.spec.properties.regions.0.name
    credentials.trust_id reply_to.exchange reply_to.topic reply_to.method reply_to.(key)
"""


def requests() -> Iterator[tuple[str, Json]]:
    """Yield the path of each field with a good request that holds `TEXT` there."""
    for path in FIELDS.split():
        yield path, changed(GOOD, _put(path))


def _put(path: str) -> Callable[[Any], None]:
    *steps, last = path.split('.')

    def change(target: Any) -> None:
        for step in steps:
            target = target[int(step)] if step.isdigit() else target.setdefault(step, {})
        target[TEXT if last == '(key)' else last] = TEXT

    return change


def raw(text: str) -> list[str]:
    """Return the lines of a text that control a terminal or that a request has forged."""
    return [line for line in text.split('\n') if not line.isprintable() or line.startswith(FORGED)]
