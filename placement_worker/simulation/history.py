"""The history of a run in bounded memory: moments to draw, explained steps, totals, outages."""

from collections.abc import Iterator

from msgspec import Struct, field, structs

from placement_worker.simulation.run import Record
from placement_worker.simulation.timeline import Timeline
from placement_worker.simulation.verdict import Evenness

POINTS = 600


class Totals(Struct):
    """The totals over all steps of a run.

    :ivar refused: the number of nodes for which the cloud had no room.
    :ivar worst: the maximum of `measures.misplaced` over the steps, in nodes.
    :ivar misplaced: the sum of `measures.misplaced` over the steps, in nodes.
    """

    steps: int = 0
    checks: int = 0
    errors: int = 0
    unexpected: int = 0
    created: int = 0
    deleted: int = 0
    refused: int = 0
    updates: int = 0
    worst: float = 0.0
    misplaced: float = 0.0

    def add(self, record: Record) -> None:
        """Add one record."""
        self.steps += record.number > 0
        self.checks += len(record.checks)
        self.errors += record.status == 'ERROR'
        self.unexpected += not record.as_expected
        self.created += sum(check.created for check in record.checks)
        self.deleted += sum(check.deleted for check in record.checks)
        self.refused += sum(check.refused for check in record.checks)
        self.updates += record.updates
        self.worst = max(self.worst, record.misplaced)
        self.misplaced += record.misplaced

    @property
    def mean(self) -> float:
        """The mean number of misplaced nodes after a step."""
        return self.misplaced / self.steps if self.steps else 0.0


class Moment(Struct, frozen=True):
    """One step of the worker and, in a comparison, the same step by the other rule.

    JSON names the worker's record `ours`, as in earlier releases.
    """

    worker: Record = field(name='ours')
    other: Record | None = None


class History:
    """The moments of a run; a longer run keeps every second, fourth, eighth and so on."""

    def __init__(self, explained: int = 0) -> None:
        """Start an empty history.

        :param explained: the number of steps whose decisions are kept.
        """
        self.worker, self.other = Totals(), Totals()
        self.evenness, self.other_evenness = Evenness(), Evenness()
        self.timeline = Timeline()
        self.explained: list[Moment] = []
        self.stride = 1
        self._room = explained
        self._kept: list[Moment] = []
        self._last: Moment | None = None
        self._worst: Moment | None = None

    def add(self, moment: Moment) -> None:
        """Add the next moment."""
        self.worker.add(moment.worker)
        self.evenness.add(moment.worker)
        self.timeline.add(moment.worker)
        if moment.other:
            self.other.add(moment.other)
            self.other_evenness.add(moment.other)
        if 0 < moment.worker.number <= self._room:
            self.explained.append(moment)
        self._last = Moment(_bare(moment.worker), moment.other and _bare(moment.other))
        if self.evenness.worst_step == moment.worker.number:
            self._worst = self._last
        if moment.worker.number % self.stride == 0:
            self._kept.append(self._last)
        if len(self._kept) > POINTS:
            self._kept = self._kept[::2]
            self.stride *= 2

    @property
    def moments(self) -> list[Moment]:
        """The moments to draw, without decisions; they include the first, last and worst one."""
        moments = filter(None, [*self._kept, self._worst, self._last])
        by_number = {moment.worker.number: moment for moment in moments}
        return [by_number[number] for number in sorted(by_number)]

    @property
    def places(self) -> list[str]:
        """The names of all places in their order."""
        return list(dict.fromkeys(self._names()))

    @property
    def pools(self) -> list[str]:
        """The policies that balance load; they are the same at each moment."""
        return [pool.policy for pool in self.moments[-1].worker.pools]

    def _names(self) -> Iterator[str]:
        for moment in self.moments:
            for record in filter(None, (moment.worker, moment.other)):
                yield from (standing.name for standing in record.standings)


def _bare(record: Record) -> Record:
    return structs.replace(record, checks=[])
