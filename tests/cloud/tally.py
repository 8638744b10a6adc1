"""Counts of the actions during which a process was killed."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.cloud.nodes import Json
from tests.cloud.operations import Operation

HEADING = ('killed', 'action', 'status', 'count')


class Tally:
    """The counts of actions by killed process, name and status."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, killed: str, operations: Iterable[Operation], actions: Iterable[Json]) -> None:
        """Count the actions of operations whose clusters are as wanted, with nothing left over."""
        for operation, action in zip(operations, actions, strict=True):
            self._counts[killed, operation.name, action['status']] += 1

    def lines(self) -> Iterator[str]:
        """Return a table, or nothing if no process was killed."""
        rows = [(*key, str(count)) for key, count in sorted(self._counts.items())]
        for row in [HEADING, *rows] if rows else []:
            yield '{:10}{:16}{:12}{:>6}'.format(*row)
