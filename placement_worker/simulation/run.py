"""Play a scenario by the policies of the worker and, for comparison, by the greedy rule.

A step that needs a decision asks the worker through the engine; the others change the world alone.
Records are yielded and not kept: 100,000 steps must need no more memory than 1,000. `history` keeps
what a report needs.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from placement_worker.contract import actions
from placement_worker.contract.model import RebalanceOptions, RebalanceStep
from placement_worker.contract.rpc import POLICY_REBALANCE
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.formats.text import counted
from placement_worker.planning.places import CordonedPlace
from placement_worker.policies.base import BEFORE
from placement_worker.policies.registry import Registry
from placement_worker.simulation import measures
from placement_worker.simulation.engine import Engine, PlayedCheck
from placement_worker.simulation.greedy import greedy_registry
from placement_worker.simulation.measures import Standing
from placement_worker.simulation.scenario import (
    Cordoning,
    MemberStatus,
    Protecting,
    Resize,
    Scenario,
    SomeNodes,
    Step,
)
from placement_worker.simulation.world import ChangingCloud, PoolState, World, without_evacuated


class Effect(Struct, frozen=True):
    """The effect of a step; `changes_world`: it changed the world without a decision."""

    what: str
    checks: list[PlayedCheck] = []
    changes_world: bool = False


# (engine, value of the step, seed of its random choices) -> effect
_Play = Callable[[Engine, Any, str], Effect]


class StepRecord(Struct, frozen=True):
    """The checks of a step, and the distribution of the nodes afterwards; number 0 is the start.

    :ivar status: ERROR if a check ended in ERROR, empty if the step needed no check.
    :ivar outages: the zones and regions that are unavailable but have been available in this run,
        and the zones without capacity.
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

    @property
    def nodes_by_place(self) -> dict[str, int]:
        return {place.name: place.nodes for place in self.standings}


class PlayedStep(Struct, frozen=True):
    """A step as the worker plays it and, in a comparison, as the greedy rule does.

    JSON names the worker's record `ours`, as in earlier releases.
    """

    worker: StepRecord = field(name='ours')
    other: StepRecord | None = None


def played_steps(
    scenario: Scenario, registry: Registry, *, explained: int, compared: bool
) -> Iterator[PlayedStep]:
    """Yield each step, played by the worker's policies and, if `compared`, by the greedy rule."""
    others: Iterable[StepRecord | None] = itertools.repeat(None)
    if compared:
        others = play(scenario, greedy_registry(registry), explained=explained)
    for record, other in zip(play(scenario, registry, explained=explained), others, strict=False):
        yield PlayedStep(record, other)


def play(scenario: Scenario, registry: Registry, *, explained: int) -> Iterator[StepRecord]:
    """Yield the record of the start, then of each step.

    :param explained: the number of steps whose decisions are explained in full.
    :raises WorkerFailed: a policy raised an error that is not a decision.
    """
    with _naming_failures('The start'):
        engine = Engine(scenario, registry)
    world = engine.world
    yield _record(world, 0, Effect('start'))
    for number, step in enumerate(scenario.unrolled(), start=1):
        world.begin_step()
        engine.explain = 'full' if number <= explained else 'none'
        with _naming_failures(f'Step {number} ({step.verb})'):
            value, seed = getattr(step, step.verb), f'{scenario.seed}/{number}'
            effect = _PLAYS[step.verb](engine, value, seed)
        yield _record(world, number, effect, step)


@contextlib.contextmanager
def _naming_failures(part: str) -> Iterator[None]:
    try:
        yield
    except PlacementWorkerError:
        raise
    except Exception as exc:
        raise WorkerFailed(f'{part} failed: {with_notes(exc)}') from exc


def _record(world: World, number: int, effect: Effect, step: Step | None = None) -> StepRecord:
    usable = without_evacuated(world.cloud.inventory, world.cordons)
    standings = measures.standings(world.cluster, world.policies, usable)
    status: Literal['OK', 'ERROR', ''] = 'OK' if effect.checks else ''
    if any(check.status != 'OK' for check in effect.checks):
        status = 'ERROR'
    return StepRecord(
        number=number,
        what=effect.what,
        note=step.note if step else '',
        checks=effect.checks,
        changes_world=effect.changes_world,
        status=status,
        as_expected=(status or 'OK') == (step.expect if step else 'OK'),
        standings=standings,
        size=len(world.nodes.by_id),
        failed=len(world.nodes.failed),
        protected=len(world.protected),
        misplaced=measures.misplaced(standings),
        skew=measures.skew(standings),
        outages=world.cloud.outages,
        cordons=[cordon.place for cordon in world.cordons],
        pools=world.pool_states,
        updates=world.pools.updates,
        grace_period_s=max((check.grace_period_s for check in effect.checks), default=0),
    )


def _scale(action: str, direction: str) -> _Play:
    def play_step(engine: Engine, count: int, _: str) -> Effect:
        return Effect(f'scale {direction} by {count}', engine.run(action, {'count': count}))

    return play_step


def _resize(engine: Engine, to: int | Resize, _: str) -> Effect:
    resize = to if isinstance(to, Resize) else Resize(to)
    if resize.adjustment_type == 'EXACT_CAPACITY':
        what = f'resize to {resize.number}'
    else:
        unit = ' %' if resize.adjustment_type.endswith('PERCENTAGE') else ''
        what = f'resize by {resize.number:+d}{unit}'
    # `msgspec` omits the default type.
    inputs = {'adjustment_type': resize.adjustment_type, **msgspec.to_builtins(resize)}
    return Effect(what, engine.run(actions.CLUSTER_RESIZE, inputs))


def _delete_nodes(engine: Engine, count: int, seed: str) -> Effect:
    chosen = engine.world.pick(count, seed)
    checks = engine.run(actions.CLUSTER_DEL_NODES, {'candidates': chosen}) if chosen else []
    return Effect(f'delete {counted(len(chosen), "node")} by name', checks)


def _fail_nodes(engine: Engine, which: Any, seed: str) -> Effect:
    failing = which if isinstance(which, SomeNodes) else SomeNodes(which)
    failed = engine.world.fail(failing, seed)
    verb = 'fails' if failed == 1 else 'fail'
    return Effect(f'{counted(failed, "node")} {verb}{_in_place(failing)}', changes_world=True)


def _in_place(which: SomeNodes) -> str:
    place = '/'.join(filter(None, (which.region, which.zone)))
    return f' in {place}' if place else ''


def _protect(engine: Engine, which: Any, seed: str) -> Effect:
    protecting = which if isinstance(which, Protecting) else Protecting(which)
    count = engine.world.protect(protecting, seed)
    verb = 'is' if count == 1 else 'are'
    end = f' for {counted(protecting.minutes, "minute")}' if protecting.minutes else ''
    reason = f' ({protecting.reason})' if protecting.reason else ''
    what = f'{counted(count, "node")} {verb} protected{_in_place(protecting)}{end}{reason}'
    return Effect(what, changes_world=True)


def _replace_failed(engine: Engine, _: bool, __: str) -> Effect:
    """Create as many nodes as have failed, then delete the failed ones.

    In this order the failed nodes are evidence of a shortage when their replacements are placed.
    """
    failed = engine.world.nodes.failed
    if not failed:
        return Effect('replace failed nodes: there are none')
    checks = engine.run(actions.CLUSTER_SCALE_OUT, {'count': len(failed)})
    if checks[0].status == 'OK':
        checks += engine.run(actions.CLUSTER_DEL_NODES, {'candidates': failed})
    return Effect(f'replace {counted(len(failed), "failed node")}', checks)


def _rebalance(engine: Engine, which: Any, _: str) -> Effect:
    """Plan a rebalance, and take its steps until a check or the creation of a node fails."""
    plan = engine.rebalance(which if isinstance(which, RebalanceOptions) else RebalanceOptions())
    reason = plan.reason.removesuffix('.')
    checks = [PlayedCheck(POLICY_REBALANCE.name, BEFORE, plan.status, plan.reason)]
    for step in plan.steps:
        checks += _create(engine, step)
        if _succeeded(checks):
            victims = [victim.id for victim in step.delete]
            checks += engine.run(actions.CLUSTER_DEL_NODES, {'candidates': victims})
        if not _succeeded(checks):
            break
    return Effect(f'rebalance: {reason[:1].lower()}{reason[1:]}', checks)


def _create(engine: Engine, step: RebalanceStep) -> list[PlayedCheck]:
    if step.scale_out:
        return engine.run(actions.CLUSTER_SCALE_OUT, {'count': len(step.create)})
    return [check for place in step.create for check in engine.create_at(place)]


def _succeeded(checks: Sequence[PlayedCheck]) -> bool:
    return all(check.status == 'OK' and not check.refused for check in checks)


def _member_status(engine: Engine, wanted: MemberStatus, seed: str) -> Effect:
    chosen = engine.world.pick(wanted.count, seed)
    engine.world.pools.set_status(chosen, wanted.status)
    members = counted(len(chosen), 'member')
    return Effect(f'{members} in operating status {wanted.status}', changes_world=True)


def _outage(kind: str, change: Callable[[ChangingCloud, str, bool], None], *, back: bool) -> _Play:
    def play_step(engine: Engine, name: str, _: str) -> Effect:
        change(engine.world.cloud, name, back)
        return Effect(f'{kind} {name} is {"back" if back else "lost"}', changes_world=True)

    return play_step


def _exhaust(engine: Engine, name: str, _: str) -> Effect:
    engine.world.cloud.exhaust(name)
    return Effect(f'zone {name} is out of capacity', changes_world=True)


def _cordon(engine: Engine, which: Cordoning, _: str) -> Effect:
    engine.world.cordon(which)
    end = f' for {counted(which.minutes, "minute")}'
    reason = f' ({which.reason})' if which.reason else ''
    verb = 'cordoned and evacuated' if which.evacuate else 'cordoned'
    return Effect(f'{which.place} is {verb}{end}{reason}', changes_world=True)


def _uncordon(engine: Engine, which: CordonedPlace, _: str) -> Effect:
    engine.world.uncordon(which)
    return Effect(f'{which.place} is open again', changes_world=True)


def _properties(key: str, plural: str) -> _Play:
    def play_step(engine: Engine, values: Mapping[str, int], _: str) -> Effect:
        engine.world.set_property(key, values)
        listed = ', '.join(f'{name} {value}' for name, value in values.items())
        return Effect(f'{plural}: {listed}', changes_world=True)

    return play_step


_PLAYS: Mapping[str, _Play] = {
    'scale_out': _scale(actions.CLUSTER_SCALE_OUT, 'out'),
    'scale_in': _scale(actions.CLUSTER_SCALE_IN, 'in'),
    'resize': _resize,
    'delete_nodes': _delete_nodes,
    'fail_nodes': _fail_nodes,
    'replace_failed': _replace_failed,
    'rebalance': _rebalance,
    'protect': _protect,
    'member_status': _member_status,
    'lose_zone': _outage('zone', ChangingCloud.set_zone, back=False),
    'exhaust': _exhaust,
    'restore_zone': _outage('zone', ChangingCloud.set_zone, back=True),
    'lose_region': _outage('region', ChangingCloud.set_region, back=False),
    'restore_region': _outage('region', ChangingCloud.set_region, back=True),
    'cordon': _cordon,
    'uncordon': _uncordon,
    'weights': _properties('weight', 'weights'),
    'caps': _properties('cap', 'caps'),
}
