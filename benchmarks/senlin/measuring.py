"""Measurements of actions that clusters carry out at once."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import processes
from benchmarks.senlin import checks
from benchmarks.senlin.fleet import Action, Fleet
from tests.cloud.whole_cloud import WholeCloud

PROGRAMS = {'workers': 'placement-worker: ', 'engines': '/bin/senlin-engine ', 'all': ''}
"""A part of the command lines of processes whose CPU time is measured."""


@dataclass(frozen=True)
class Measured:
    """The time that one action of each cluster took."""

    actions: Sequence[Action]
    seconds: float
    """The time from the first request to the end of the last action."""
    cpu_s: Mapping[str, float]
    """The CPU time of processes by the keys of `PROGRAMS`."""
    check_ms: Mapping[str, float]
    """The time that the engine needed for checks by the id of the action; empty without workers."""
    handling_ms: Sequence[float]
    """The time that workers needed for each check."""
    zones: Mapping[str, Sequence[str]]
    """The zones that workers chose for new nodes by the id of the cluster."""

    @property
    def per_minute(self) -> float:
        return 60 * len(self.actions) / self.seconds

    @property
    def check_percent(self) -> list[float]:
        """The part of each action in which the engine checked policies with a worker."""
        return [self.check_ms[one.id] / one.seconds / 10 for one in self.actions]


def measure(cloud: WholeCloud, fleet: Fleet, action: str, **inputs: Any) -> Measured:
    """Carry out an action of each cluster at once.

    Workers must have decided once on each action, or on none if they do not decide.
    """
    engines, workers = cloud.senlin_programs.engines.values(), cloud.workers.values()
    engine_logs = checks.GrowingFiles(one.log for one in engines)
    worker_logs = checks.GrowingFiles(one.log for one in workers)
    decision_logs = checks.GrowingFiles(
        cloud.folder / f'{name}.decisions' for name in cloud.workers
    )
    cpu, started = _cpu_s(), time.time()
    actions = fleet.change(action, **inputs)
    seconds = max(one.end for one in actions) - started
    used = {name: after - cpu[name] for name, after in _cpu_s().items()}
    decisions = checks.recorded(decision_logs.lines())
    check_ms = checks.in_engine(engine_logs.lines())
    assert decisions.keys() == ({one.id for one in actions} if cloud.decides else set())
    assert check_ms.keys() == decisions.keys()
    handling_ms = checks.in_worker(worker_logs.lines())
    assert len(handling_ms) == len(decisions)
    return Measured(
        actions,
        seconds,
        used,
        check_ms,
        handling_ms,
        {one.cluster: decisions[one.id] for one in actions if one.id in decisions},
    )


def _cpu_s() -> dict[str, float]:
    """Return the CPU time of the processes of the cloud so far."""
    commands = {pid: processes.command(pid) for pid in processes.descendants(os.getpid())}
    return {
        name: processes.cpu_s(pid for pid, command in commands.items() if part in command)
        for name, part in PROGRAMS.items()
    }
