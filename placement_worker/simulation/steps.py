"""The kinds of steps of a scenario: the effect of each on the world, and its description.

A step that needs a decision asks the worker through the engine; the others change the world alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from placement_worker.contract import actions
from placement_worker.contract.model import RebalanceOptions, RebalanceStep
from placement_worker.contract.rpc import POLICY_REBALANCE
from placement_worker.formats.text import counted
from placement_worker.planning.places import CordonedPlace
from placement_worker.policies.base import BEFORE
from placement_worker.simulation.engine import Engine, PlayedCheck
from placement_worker.simulation.scenario import (
    Cordoning,
    MemberStatus,
    Protecting,
    Resize,
    SomeNodes,
    Step,
)


class Taken(Struct, frozen=True):
    """A step that was taken; with `changes_world` it changed the cloud or a policy."""

    what: str
    checks: list[PlayedCheck] = []
    changes_world: bool = False


# Take a step of one kind: the engine, the value of the step, and the seed of its random choices.
_Take = Callable[[Engine, Any, str], Taken]


def take(engine: Engine, step: Step, seed: str) -> Taken:
    return _TAKEN[step.verb](engine, getattr(step, step.verb), seed)


def _scale(action: str, direction: str) -> _Take:
    def taken(engine: Engine, count: int, _: str) -> Taken:
        return Taken(f'scale {direction} by {count}', engine.run(action, {'count': count}))

    return taken


def _resize(engine: Engine, to: int | Resize, _: str) -> Taken:
    resize = to if isinstance(to, Resize) else Resize(to)
    if resize.adjustment_type == 'EXACT_CAPACITY':
        what = f'resize to {resize.number}'
    else:
        unit = ' %' if resize.adjustment_type.endswith('PERCENTAGE') else ''
        what = f'resize by {resize.number:+d}{unit}'
    inputs = {'adjustment_type': resize.adjustment_type, **msgspec.to_builtins(resize)}
    return Taken(what, engine.run(actions.CLUSTER_RESIZE, inputs))


def _delete_nodes(engine: Engine, count: int, seed: str) -> Taken:
    chosen = engine.world.pick(count, seed)
    checks = engine.run(actions.CLUSTER_DEL_NODES, {'candidates': chosen}) if chosen else []
    return Taken(f'delete {counted(len(chosen), "node")} by name', checks)


def _fail_nodes(engine: Engine, which: Any, seed: str) -> Taken:
    failing = which if isinstance(which, SomeNodes) else SomeNodes(which)
    failed = engine.world.fail(failing, seed)
    verb = 'fails' if failed == 1 else 'fail'
    return Taken(f'{counted(failed, "node")} {verb}{_in_place(failing)}', changes_world=True)


def _in_place(which: SomeNodes) -> str:
    place = '/'.join(filter(None, (which.region, which.zone)))
    return f' in {place}' if place else ''


def _protect(engine: Engine, which: Any, seed: str) -> Taken:
    protecting = which if isinstance(which, Protecting) else Protecting(which)
    count = engine.world.protect(protecting, seed)
    verb = 'is' if count == 1 else 'are'
    end = f' for {counted(protecting.minutes, "minute")}' if protecting.minutes else ''
    reason = f' ({protecting.reason})' if protecting.reason else ''
    what = f'{counted(count, "node")} {verb} protected{_in_place(protecting)}{end}{reason}'
    return Taken(what, changes_world=True)


def _replace_failed(engine: Engine, _: bool, __: str) -> Taken:
    """Create as many nodes as have failed, then delete the failed ones.

    In this order the failed nodes are evidence of a shortage when their replacements are placed.
    """
    failed = engine.world.nodes.failed
    if not failed:
        return Taken('replace failed nodes: there are none')
    checks = engine.run(actions.CLUSTER_SCALE_OUT, {'count': len(failed)})
    if checks[0].status == 'OK':
        checks += engine.run(actions.CLUSTER_DEL_NODES, {'candidates': failed})
    return Taken(f'replace {counted(len(failed), "failed node")}', checks)


def _rebalance(engine: Engine, which: Any, _: str) -> Taken:
    """Plan a rebalance, and take its steps until a check or the creation of a node fails."""
    plan = engine.rebalance(which if isinstance(which, RebalanceOptions) else RebalanceOptions())
    reason = plan.reason.removesuffix('.')
    checks = [PlayedCheck(POLICY_REBALANCE.name, BEFORE, plan.status, plan.reason)]
    for step in plan.steps:
        checks += _created(engine, step)
        if _succeeded(checks):
            victims = [victim.id for victim in step.delete]
            checks += engine.run(actions.CLUSTER_DEL_NODES, {'candidates': victims})
        if not _succeeded(checks):
            break
    return Taken(f'rebalance: {reason[:1].lower()}{reason[1:]}', checks)


def _created(engine: Engine, step: RebalanceStep) -> list[PlayedCheck]:
    if step.scale_out:
        return engine.run(actions.CLUSTER_SCALE_OUT, {'count': len(step.create)})
    return [check for place in step.create for check in engine.create_at(place)]


def _succeeded(checks: Sequence[PlayedCheck]) -> bool:
    return all(check.status == 'OK' and not check.refused for check in checks)


def _member_status(engine: Engine, wanted: MemberStatus, seed: str) -> Taken:
    chosen = engine.world.pick(wanted.count, seed)
    engine.world.pools.set_status(chosen, wanted.status)
    members = counted(len(chosen), 'member')
    return Taken(f'{members} in operating status {wanted.status}', changes_world=True)


def _zone(available: bool) -> _Take:
    def taken(engine: Engine, name: str, _: str) -> Taken:
        engine.world.cloud.set_zone(name, available)
        if available:
            engine.world.cloud.set_capacity(name, has_room=True)
        return Taken(f'zone {name} {"is back" if available else "is lost"}', changes_world=True)

    return taken


def _exhaust(engine: Engine, name: str, _: str) -> Taken:
    engine.world.cloud.set_capacity(name, has_room=False)
    return Taken(f'zone {name} is out of capacity', changes_world=True)


def _cordon(engine: Engine, which: Cordoning, _: str) -> Taken:
    engine.world.cordon(which)
    end = f' for {counted(which.minutes, "minute")}'
    reason = f' ({which.reason})' if which.reason else ''
    verb = 'cordoned and evacuated' if which.evacuate else 'cordoned'
    return Taken(f'{which.place} is {verb}{end}{reason}', changes_world=True)


def _uncordon(engine: Engine, which: CordonedPlace, _: str) -> Taken:
    engine.world.uncordon(which)
    return Taken(f'{which.place} is open again', changes_world=True)


def _region(known: bool) -> _Take:
    def taken(engine: Engine, name: str, _: str) -> Taken:
        engine.world.cloud.set_region(name, known)
        return Taken(f'region {name} {"is back" if known else "is lost"}', changes_world=True)

    return taken


def _properties(key: str, plural: str) -> _Take:
    def taken(engine: Engine, values: Mapping[str, int], _: str) -> Taken:
        engine.world.set_property(key, values)
        return Taken(
            f'{plural}: {", ".join(f"{name} {value}" for name, value in values.items())}', [], True
        )

    return taken


_TAKEN: Mapping[str, _Take] = {
    'scale_out': _scale(actions.CLUSTER_SCALE_OUT, 'out'),
    'scale_in': _scale(actions.CLUSTER_SCALE_IN, 'in'),
    'resize': _resize,
    'delete_nodes': _delete_nodes,
    'fail_nodes': _fail_nodes,
    'replace_failed': _replace_failed,
    'rebalance': _rebalance,
    'protect': _protect,
    'member_status': _member_status,
    'lose_zone': _zone(False),
    'exhaust': _exhaust,
    'restore_zone': _zone(True),
    'lose_region': _region(False),
    'restore_region': _region(True),
    'cordon': _cordon,
    'uncordon': _uncordon,
    'weights': _properties('weight', 'weights'),
    'caps': _properties('cap', 'caps'),
}
