"""The protection of nodes from deletion, which users set in metadata and engines in data."""

import datetime
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from placement_worker.contract.model import Node, NodePatch, in_utc
from placement_worker.contract.values import shown
from placement_worker.formats import text as moments
from placement_worker.formats.text import counted, listed, shortened

KEY = 'protected'
"""The key of the protection in the metadata and in the data of a node."""
ALL_PROTECTED = 'All nodes are protected.'
EXPECTED = '`true`, `false`, a time in ISO 8601, or `{until, reason}`'
LISTED = 10
"""The number of protected nodes that a sentence names."""
_NUMBER = re.compile('[0-9]{9,}')
_WORDS = {'true': True, 'false': False}
_KEYS = {'until', 'reason'}


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a node that must not be deleted.

    `until`: None if the protection does not end by itself. `invalid`: the value if it cannot be
    parsed, as an error shows it, else an empty string.
    """

    until: datetime.datetime | None = None
    reason: str = ''
    invalid: str = ''

    def __str__(self) -> str:
        until = f' until {moments.day_or_time(self.until)}' if self.until else ''
        reason = f' ({shortened(self.reason)})' if self.reason else ''
        return f'protected{until}{reason}'

    @property
    def details(self) -> dict[str, str]:
        """The end and the reason, or empty strings, for the details of a decision."""
        return {
            'until': moments.day_or_time(self.until) if self.until else '',
            'reason': self.reason,
        }


def parse(value: object) -> Protection | None:
    """Return the protection that a value describes, or None if it describes none.

    A value that cannot be parsed protects: the user who wrote it wanted to keep the node. Engines
    store metadata as strings, so a string may hold any of the other forms.
    """
    try:
        return _parsed(_plain(value))
    except (ValueError, RecursionError):  # RecursionError: deeply nested JSON in a string
        return Protection(invalid=shown(value))


def marked(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes that have metadata or the key in their data, so that few are parsed."""
    return [node for node in nodes if KEY in node.data or node.metadata is not None]


def in_force(
    nodes: Iterable[Node], patches: Mapping[str, NodePatch], now: datetime.datetime
) -> dict[str, Protection]:
    """Return the protected ones of some nodes by id, ordered by index and id.

    :param nodes: a node may be repeated; it is protected if one of its versions is.
    :param patches: changes of nodes, by node id; their data replace those of the node.
    """
    found: dict[str, Protection] = {}
    for node in sorted(nodes, key=attrgetter('index', 'id')):
        patch = patches.get(node.id)
        protection = _of(node, patch.data if patch else node.data, now)
        if protection:
            found.setdefault(node.id, protection)
    return found


def described(protections: Mapping[str, Protection]) -> str:
    """Return the protected nodes in words: "n4 is protected until 2026-12-01, n5 is protected"."""
    return listed(protections.items(), lambda one: f'{shortened(one[0])} is {one[1]}', LISTED)


def too_few(deleted: int, wanted: int, protections: Mapping[str, Protection]) -> str:
    """Return a sentence about fewer victims than wanted."""
    number = f'{deleted} of {counted(wanted, "node")}'
    return f'Only {number} can be deleted: {described(protections)}'


def unparsed(protections: Mapping[str, Protection]) -> list[str]:
    """Return a sentence if the protection of some nodes cannot be parsed, else none."""
    invalid = [(node_id, one.invalid) for node_id, one in protections.items() if one.invalid]
    if not invalid:
        return []
    nodes = listed(invalid, lambda one: f'{shortened(one[0])} (got {one[1]})')
    return [f'Cannot parse `{KEY}`, so these nodes stay protected: {nodes}; expected {EXPECTED}']


def _of(node: Node, data: Mapping[str, Any], now: datetime.datetime) -> Protection | None:
    """Return the protection of a node now; that of a user comes first."""
    values = (node.metadata.protected if node.metadata else None, data.get(KEY))
    found = (one for one in map(parse, values) if one and (not one.until or one.until > now))
    return next(found, None)


def _plain(value: object) -> object:
    """Return the value that a string holds, in any of the forms that are not a time."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith('{'):
        return json.loads(text)
    return _WORDS.get(text.lower(), text)


def _parsed(value: object) -> Protection | None:
    """Return the protection that a plain value describes.

    :raises ValueError: it describes none.
    """
    if value is None or isinstance(value, bool):
        return Protection() if value else None
    if isinstance(value, dict) and value and value.keys() <= _KEYS:
        until, reason = value.get('until'), value.get('reason') or ''
        if isinstance(reason, str):
            return Protection(None if until is None else _time(until), reason)
    return Protection(_time(value))


def _time(value: object) -> datetime.datetime:
    """Return the time in a string.

    Python takes a long number for a date, any separator and a time: 1712011200000 would be a time
    in the year 1712. It is a count of milliseconds, which is not ISO 8601.

    :raises ValueError: the value is not a time in ISO 8601.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        raise ValueError('not a time')
    return in_utc(datetime.datetime.fromisoformat(value.strip()))
