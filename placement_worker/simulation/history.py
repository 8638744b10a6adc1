"""The history of a run for its report: totals, the verdict, and a bounded sample of the steps."""

from msgspec import Struct, field, structs

from placement_worker.simulation.measures import Evenness
from placement_worker.simulation.run import PlayedStep, StepRecord

MOST_MARKS = 80  # flags or outages that a chart and its legend can show
POINTS = 600  # columns of a chart


class History:
    """The steps of a run; a longer run keeps every second, fourth, eighth and so on."""

    def __init__(self, explained: int) -> None:
        """Keep the decisions of the first `explained` steps."""
        self.worker, self.other = Totals(), Totals()
        self.timeline = Timeline()
        self.explained: list[PlayedStep] = []
        self.stride = 1
        self._room = explained
        self._kept: list[PlayedStep] = []
        self._last: PlayedStep | None = None
        self._worst: PlayedStep | None = None

    def add(self, step: PlayedStep) -> None:
        self.worker.add(step.worker)
        self.timeline.add(step.worker)
        if step.other:
            self.other.add(step.other)
        if 0 < step.worker.number <= self._room:
            self.explained.append(step)
        self._last = PlayedStep(_bare(step.worker), step.other and _bare(step.other))
        if self.worker.evenness.worst_step == step.worker.number:
            self._worst = self._last
        if step.worker.number % self.stride == 0:
            self._kept.append(self._last)
        if len(self._kept) > POINTS:
            self._kept = self._kept[::2]
            self.stride *= 2

    @property
    def headline(self) -> str:
        """The verdict, after what the worker gained over the other rule, without a full stop."""
        if not self.other.steps:
            return self.worker.evenness.verdict
        differences = {
            # The difference of the means that the report shows.
            'nodes off their ideal on average': round(
                round(self.other.mean, 2) - round(self.worker.mean, 2), 2
            ),
            'failed for lack of capacity': self.other.refused - self.worker.refused,
        }
        gains = [
            f'{abs(number):g} {"fewer" if number > 0 else "more"} {what}'
            for what, number in differences.items()
            if number
        ]
        gained = ', '.join(gains) or 'as even on average'
        return f"Compared with Senlin's greedy rule: {gained}. {self.worker.evenness.verdict}"

    @property
    def steps(self) -> list[PlayedStep]:
        """The steps to draw, without decisions; they include the first, last and worst one."""
        steps = filter(None, [*self._kept, self._worst, self._last])
        by_number = {step.worker.number: step for step in steps}
        return [by_number[number] for number in sorted(by_number)]

    @property
    def numbers(self) -> list[int]:
        """The step of each column of a chart."""
        return [step.worker.number for step in self.steps]

    @property
    def places(self) -> list[str]:
        records = [record for step in self.steps for record in (step.worker, step.other) if record]
        return list(dict.fromkeys(place.name for record in records for place in record.standings))

    @property
    def pools(self) -> list[str]:
        """The policies that balance load; they are the same after each step."""
        return [pool.policy for pool in self.steps[-1].worker.pools]


def _bare(record: StepRecord) -> StepRecord:
    return structs.replace(record, checks=[])


class Totals(Struct):
    """The totals of a run; `misplaced` is the sum of `measures.misplaced` after each step.

    `worst` also covers the start, before the first step.
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
    evenness: Evenness = field(default_factory=Evenness)

    def add(self, record: StepRecord) -> None:
        self.steps += record.number > 0
        self.checks += len(record.checks)
        self.errors += record.status == 'ERROR'
        self.unexpected += not record.as_expected
        self.created += sum(check.created for check in record.checks)
        self.deleted += sum(check.deleted for check in record.checks)
        self.refused += sum(check.refused for check in record.checks)
        self.updates += record.updates
        self.worst = max(self.worst, record.misplaced)
        self.misplaced += record.misplaced if record.number > 0 else 0
        self.evenness.add(record.number, record.standings)

    @property
    def mean(self) -> float:
        return self.misplaced / self.steps if self.steps else 0.0


class Outage(Struct):
    """The steps after which a zone or a region was unavailable or cordoned, `last` included."""

    place: str
    first: int
    last: int
    is_cordon: bool


class Flag(Struct, frozen=True):
    number: int
    text: str


class Timeline:
    """The outages and flags of a run: the first ones, up to `MOST_MARKS`, and the number of all."""

    def __init__(self) -> None:
        self.outages: list[Outage] = []
        self.outage_count = 0
        self.flags: list[Flag] = []
        self.flag_count = 0
        self._lasting: dict[tuple[str, bool], Outage] = {}

    def add(self, record: StepRecord) -> None:
        if record.changes_world:
            self.flag_count += 1
            if len(self.flags) < MOST_MARKS:
                self.flags.append(Flag(record.number, record.what))
        closed = [(place, False) for place in record.outages]
        closed += [(place, True) for place in record.cordons]
        before, self._lasting = self._lasting, {}
        for place, is_cordon in closed:
            outage = before.get((place, is_cordon)) or self._begun(place, is_cordon, record.number)
            outage.last = record.number
            self._lasting[place, is_cordon] = outage

    def _begun(self, place: str, is_cordon: bool, number: int) -> Outage:
        outage = Outage(place, number, number, is_cordon)
        self.outage_count += 1
        if len(self.outages) < MOST_MARKS:
            self.outages.append(outage)
        return outage
