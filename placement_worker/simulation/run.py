"""Play a scenario step by step, under the installed rules and under Senlin's greedy rule.

A run of 100,000 steps must fit into the memory of one of 1,000: `play` yields its records, and the
history of a run keeps bounded samples, sums and the first marks only.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from msgspec import Struct, field, structs

from placement_worker.contract.action_data import CREATION
from placement_worker.contract.model import Explain
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.planning.placement import Plan, Row, infeasible
from placement_worker.planning.places import Held, Place
from placement_worker.planning.sizing import Size
from placement_worker.policies.places import (
    AS_IN_1_0,
    RegionPlacementProperties,
    ZonePlacementProperties,
)
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.registry import Registry
from placement_worker.policies.zone_placement import ZonePlacement
from placement_worker.simulation import measures
from placement_worker.simulation.engine import Engine
from placement_worker.simulation.measures import Evenness, Standing
from placement_worker.simulation.scenario import Scenario
from placement_worker.simulation.steps import Check, Taken, take
from placement_worker.simulation.world import TICK, PoolState, World, without_evacuated

MOST_MARKS = 80  # flags or outages that a chart and its legend can show
POINTS = 600  # columns of a chart


class Record(Struct, frozen=True):
    """The result of a step: its checks, and the distribution of the nodes afterwards.

    :ivar number: the number of the step; 0 is the start.
    :ivar status: ERROR if a check ended in ERROR, empty if the step needed no check.
    :ivar as_expected: whether the checks ended as the step expects.
    :ivar outages: the zones and regions that are unavailable but were available before, and the
        zones without capacity.
    :ivar cordons: the cordoned places in words.
    :ivar pools: the pools of the load-balancing policies.
    :ivar updates: the number of updates of load balancers that the step sent to Octavia.
    :ivar grace_period_s: the longest time that the engine waits before it deletes nodes.
    :ivar misplaced: `measures.misplaced`, in nodes.
    :ivar skew: `measures.skew`, in nodes.
    """

    number: int
    what: str
    note: str
    checks: list[Check]
    status: Literal['OK', 'ERROR', '']
    changes_world: bool
    as_expected: bool
    standings: list[Standing]
    size: int
    failed: int
    protected: int
    misplaced: float
    skew: float
    outages: list[str]
    cordons: list[str]
    pools: list[PoolState]
    updates: int
    grace_period_s: int


class Moment(Struct, frozen=True):
    """One step of the worker and, in a comparison, the same step by the other rule.

    JSON names the worker's record `ours`, as in earlier releases.
    """

    worker: Record = field(name='ours')
    other: Record | None = None


def play(scenario: Scenario, registry: Registry, explained: int = 0) -> Iterator[Record]:
    """Yield the start, then each step, in constant memory.

    :param explained: the number of steps whose decisions are explained in full.
    :raises WorkerFailed: a policy raised an error that is not a decision.
    """
    with _naming('The start'):
        engine = Engine(scenario, registry)
    world = engine.world
    yield _record(world, 0, Taken('start'), '', 'OK')
    for number, step in enumerate(scenario.unrolled(), start=1):
        world.now += TICK
        explain: Explain = 'full' if number <= explained else 'none'
        with _naming(f'Step {number} ({step.verb})'):
            taken = take(engine, step, f'{scenario.seed}/{number}', explain)
        yield _record(world, number, taken, step.note, step.expect)


def moments(
    scenario: Scenario, registry: Registry, explained: int = 0, *, compared: bool = False
) -> Iterator[Moment]:
    """Play a scenario, and at the same time by the greedy rule if both are compared.

    :param explained: the number of steps whose decisions are explained in full.
    """
    worker = play(scenario, registry, explained)
    if compared:
        yield from map(Moment, worker, play(scenario, greedy_registry(registry), explained))
    else:
        yield from map(Moment, worker)


@contextlib.contextmanager
def _naming(part: str) -> Iterator[None]:
    try:
        yield
    except PlacementWorkerError:
        raise
    except Exception as exc:
        raise WorkerFailed(f'{part} failed: {with_notes(exc)}') from exc


def _record(world: World, number: int, taken: Taken, note: str, expected: str) -> Record:
    cluster = world.cluster
    kept = without_evacuated(world.cloud.inventory, world.cordons)
    standings = measures.standings(cluster, world.policies, kept)
    failed = any(check.status != 'OK' for check in taken.checks)
    status: Literal['OK', 'ERROR', ''] = 'ERROR' if failed else 'OK' if taken.checks else ''
    return Record(
        number=number,
        what=taken.what,
        note=note,
        checks=taken.checks,
        changes_world=taken.changes_world,
        status=status,
        as_expected=(status or 'OK') == expected,
        standings=standings,
        size=len(world.nodes.by_id),
        failed=len(world.nodes.failed),
        protected=len(world.protected),
        misplaced=measures.misplaced(standings),
        skew=measures.skew(standings),
        outages=world.cloud.outages,
        cordons=[one.place for one in world.cordons],
        pools=world.pools.states(world.policies, world.cloud.inventory, cluster.profile.region),
        updates=world.pools.take_updates(),
        grace_period_s=max((check.grace_period_s for check in taken.checks), default=0),
    )


class History:
    """The moments of a run; a longer run keeps every second, fourth, eighth and so on."""

    def __init__(self, explained: int = 0) -> None:
        """Start an empty history; `explained` is the number of steps whose decisions are kept."""
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
        self.worker.add(moment.worker)
        self.evenness.add(moment.worker.number, moment.worker.standings)
        self.timeline.add(moment.worker)
        if moment.other:
            self.other.add(moment.other)
            self.other_evenness.add(moment.other.number, moment.other.standings)
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
        records = [one for moment in self.moments for one in (moment.worker, moment.other) if one]
        return list(dict.fromkeys(one.name for record in records for one in record.standings))

    @property
    def pools(self) -> list[str]:
        """The policies that balance load; they are the same at each moment."""
        return [pool.policy for pool in self.moments[-1].worker.pools]


def _bare(record: Record) -> Record:
    return structs.replace(record, checks=[])


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
        return self.misplaced / self.steps if self.steps else 0.0


class Outage(Struct):
    """The steps after which a zone or a region was unavailable, `last` included.

    `is_cordon`: whether a cordon was the cause.
    """

    place: str
    first: int
    last: int
    is_cordon: bool = False


class Flag(Struct, frozen=True):
    """A step that changed the cloud or a policy."""

    number: int
    what: str


class Timeline:
    """The outages and the flags of a run.

    :ivar outages: the first ones, up to `MOST_MARKS`.
    :ivar outage_count: the number of all outages.
    :ivar flags: the first ones, up to `MOST_MARKS`.
    :ivar flag_count: the number of all flags.
    """

    def __init__(self) -> None:
        self.outages: list[Outage] = []
        self.outage_count = 0
        self.flags: list[Flag] = []
        self.flag_count = 0
        self._lasting: dict[tuple[str, bool], Outage] = {}

    def add(self, record: Record) -> None:
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


def greedy_registry(installed: Registry) -> Registry:
    """Return the installed policy types, with the greedy rule in the placement policies."""
    greedy = {policy.name: policy for policy in (_GreedyZonePlacement, _GreedyRegionPlacement)}
    return Registry(
        (name, greedy.get(policy.name, policy)) for name, policy in installed.types.items()
    )


# Senlin's greedy rule, which knows neither skew nor shortages nor protected nodes. Source:
# senlin/policies/zone_placement.py and region_placement.py of release 16.


def greedy_plan(size: Size, places: Sequence[Place], held: Held[str | None]) -> Plan:
    """Plan by the greedy rule; nodes outside the usable places do not count.

    The target of a place is its share of the resulting size by weight, up to its cap. The target
    is rounded up when the cluster grows and down when it shrinks. A growing cluster fills the place
    with the highest weight up to its target, then the next place. A shrinking cluster empties the
    place with the lowest weight first.

    :raises NoFeasiblePlan: the targets leave nodes over.
    """
    usable = [place for place in places if place.available]
    growing = size.kind == CREATION
    located = held.total
    current = [located[place.name] for place in usable]
    size_after = sum(current) + (size.count if growing else -size.count)
    weight = sum(place.weight for place in usable)
    ideals = [Fraction(size_after * place.weight, weight) for place in usable]
    room = [
        _target(place, ideal) - held if growing else held - math.floor(ideal)
        for place, ideal, held in zip(usable, ideals, current, strict=True)
    ]
    order = sorted(range(len(usable)), key=lambda i: usable[i].weight, reverse=growing)
    moved = _filled(room, order, size.count)
    if sum(moved) < size.count:
        taken = {place.name: moved[i] for i, place in enumerate(usable)}
        rows = [(one.name, located[one.name], one.cap, one.obstacle) for one in places]
        raise infeasible(size.count, taken, rows)
    planned = map(_row, usable, current, ideals, moved, [growing] * len(usable))
    others = [
        Row(place.name, place.weight, place.cap, False, held, 0.0, 0, held, '')
        for place in places
        if not place.available
        for held in [located[place.name]]
    ]
    return Plan((*planned, *others))


def _filled(room: Sequence[int], order: Sequence[int], count: int) -> list[int]:
    """Return the number of nodes per place if each takes what it has room for, in this order."""
    moved = [0] * len(room)
    for i in order:
        moved[i] = max(0, min(room[i], count))
        count -= moved[i]
    return moved


def _target(place: Place, ideal: Fraction) -> int:
    target = math.ceil(ideal)
    return target if place.cap < 0 else min(target, place.cap)


def _row(place: Place, current: int, ideal: Fraction, moved: int, growing: bool) -> Row:
    final = current + moved if growing else current - moved
    return Row(place.name, place.weight, place.cap, True, current, float(ideal), moved, final, '')


class _GreedyZonePlacement(ZonePlacement):
    planner = staticmethod(greedy_plan)

    def __init__(self, properties: ZonePlacementProperties) -> None:
        super().__init__(ZonePlacementProperties(places=properties.places, **AS_IN_1_0))


class _GreedyRegionPlacement(RegionPlacement):
    planner = staticmethod(greedy_plan)

    def __init__(self, properties: RegionPlacementProperties) -> None:
        super().__init__(RegionPlacementProperties(places=properties.places, **AS_IN_1_0))
