"""Play a scenario by the policies of the worker and, for comparison, by the greedy rule.

Records are yielded and not kept: 100,000 steps must need no more memory than 1,000. `history` keeps
what a report needs.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct, field

from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.policies.registry import Registry
from placement_worker.simulation import measures
from placement_worker.simulation.engine import Engine, PlayedCheck
from placement_worker.simulation.greedy import greedy_registry
from placement_worker.simulation.measures import Standing
from placement_worker.simulation.scenario import Scenario
from placement_worker.simulation.steps import Taken, take
from placement_worker.simulation.world import TICK, PoolState, World, without_evacuated


class StepRecord(Struct, frozen=True):
    """The checks of a step, and the distribution of the nodes afterwards; number 0 is the start.

    :ivar status: ERROR if a check ended in ERROR, empty if the step needed no check.
    :ivar outages: the zones and regions that are unavailable but were available before, and the
        zones without capacity.
    :ivar updates: the number of updates of load balancers that the step sent to Octavia.
    :ivar grace_period_s: the longest time that the engine waits before it deletes nodes.
    """

    number: int
    what: str
    note: str
    checks: list[PlayedCheck]
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


class PlayedStep(Struct, frozen=True):
    """A step as the worker plays it and, in a comparison, as the greedy rule does.

    JSON names the worker's record `ours`, as in earlier releases.
    """

    worker: StepRecord = field(name='ours')
    other: StepRecord | None = None


def played_steps(
    scenario: Scenario, registry: Registry, explained: int, *, compared: bool
) -> Iterator[PlayedStep]:
    """Yield each step, played by the worker's policies and, if `compared`, by the greedy rule."""
    others: Iterable[StepRecord | None] = itertools.repeat(None)
    if compared:
        others = play(scenario, greedy_registry(registry), explained)
    for record, other in zip(play(scenario, registry, explained), others, strict=False):
        yield PlayedStep(record, other)


def play(scenario: Scenario, registry: Registry, explained: int) -> Iterator[StepRecord]:
    """Yield the record of the start, then of each step.

    :param explained: the number of steps whose decisions are explained in full.
    :raises WorkerFailed: a policy raised an error that is not a decision.
    """
    with _failures_named('The start'):
        engine = Engine(scenario, registry)
    world = engine.world
    yield _record(world, 0, Taken('start'), '', 'OK')
    for number, step in enumerate(scenario.unrolled(), start=1):
        world.now += TICK
        world.pools.updates = 0
        engine.explain = 'full' if number <= explained else 'none'
        with _failures_named(f'Step {number} ({step.verb})'):
            taken = take(engine, step, f'{scenario.seed}/{number}')
        yield _record(world, number, taken, step.note, step.expect)


@contextlib.contextmanager
def _failures_named(part: str) -> Iterator[None]:
    try:
        yield
    except PlacementWorkerError:
        raise
    except Exception as exc:
        raise WorkerFailed(f'{part} failed: {with_notes(exc)}') from exc


def _record(world: World, number: int, taken: Taken, note: str, expected: str) -> StepRecord:
    cluster = world.cluster
    without_evacuated_places = without_evacuated(world.cloud.inventory, world.cordons)
    standings = measures.standings(cluster, world.policies, without_evacuated_places)
    has_error = any(check.status != 'OK' for check in taken.checks)
    status: Literal['OK', 'ERROR', ''] = 'ERROR' if has_error else 'OK' if taken.checks else ''
    return StepRecord(
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
        cordons=[cordon.place for cordon in world.cordons],
        pools=world.pools.states(world.policies, world.cloud.inventory, cluster.profile.region),
        updates=world.pools.updates,
        grace_period_s=max((check.grace_period_s for check in taken.checks), default=0),
    )
