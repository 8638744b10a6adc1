"""The checks of policies by workers, in the logs of the engines and of the workers."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

IN_ENGINE = re.compile(r' CLUSTER_\w+ (\S+) (?:BEFORE|AFTER) of cluster \S+: \w+ in (\d+) ms')
IN_WORKER = re.compile(r' (?:BEFORE|AFTER) CLUSTER_\w+ \S+ of cluster \S+: \w+ in ([\d.]+) ms')


class GrowingFiles:
    """Files to which other processes append lines, and which they create when they need them."""

    def __init__(self, files: Iterable[Path]) -> None:
        """Start at the current ends of the files."""
        self._ends = {file: file.stat().st_size if file.exists() else 0 for file in files}

    def lines(self) -> Iterator[str]:
        """Yield the lines that have been added since the start."""
        for file, end in self._ends.items():
            with file.open('rb') as opened:
                opened.seek(end)
                yield from opened.read().decode(errors='replace').splitlines()


def in_engine(lines: Iterable[str]) -> dict[str, float]:
    """Return the ms that the engine needed for the checks of each action, by its id.

    They include the time to prepare requests, to wait for workers and to store their replies.
    """
    found: dict[str, float] = defaultdict(float)
    for match in filter(None, map(IN_ENGINE.search, lines)):
        found[match[1]] += float(match[2])
    return dict(found)


def in_worker(lines: Iterable[str]) -> Sequence[float]:
    """Return the ms that workers needed for each check."""
    return [float(match[1]) for match in filter(None, map(IN_WORKER.search, lines))]


def recorded(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the zones of new nodes that workers recorded, by the id of the action.

    :raises AssertionError: an action has two decisions.
    """
    found: dict[str, list[str]] = {}
    for record in map(json.loads, lines):
        action = record['request']['action']['id']
        assert action not in found, f'action {action} has two decisions'
        placements = record['reply']['action']['data'].get('placement', {}).get('placements', [])
        found[action] = [one['zone'] for one in placements]
    return found
