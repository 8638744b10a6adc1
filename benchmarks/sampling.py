"""Calls from many threads: their durations, and the CPU time of each process."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.pairing import interleaved
from benchmarks.processes import cpu_s


@dataclass(frozen=True)
class Contender:
    """A callable, the processes that serve it, and those of its broker if this run started it."""

    call: Callable[[Any], Any]
    pids: Sequence[int]
    broker: Sequence[int]


@dataclass(frozen=True)
class Sample:
    """The durations of some calls in seconds, and the CPU time of each process."""

    latencies: Sequence[float]
    wall_s: float
    client_s: float
    server_s: float
    broker_s: float | None

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.latencies) / self.wall_s


Samples = Mapping[str, Sequence[Sample]]
"""Contender -> one sample per round."""


def compare(
    contenders: Mapping[str, Contender],
    asked: Any,
    callers: int,
    rounds: int,
    seconds: float,
) -> Samples:
    """Measure the contenders in turns, with the given number of threads."""
    with contextlib.ExitStack() as stack:
        runs = {}
        for name, one in contenders.items():
            pool = stack.enter_context(ThreadPoolExecutor(callers))
            _everybody(
                pool, callers, lambda one=one: one.call(asked)
            )  # connect before the measurement
            runs[name] = lambda one=one, pool=pool: _sample(one, asked, pool, callers, seconds)
        return interleaved(runs, rounds)


def _everybody(pool: ThreadPoolExecutor, callers: int, call: Callable[[], Any]) -> list[Any]:
    """Run a function once in each thread of a pool."""
    meeting = threading.Barrier(callers)

    def one(_: int) -> Any:
        meeting.wait()
        return call()

    return list(pool.map(one, range(callers)))


def _sample(
    one: Contender,
    asked: Any,
    pool: ThreadPoolExecutor,
    callers: int,
    seconds: float,
) -> Sample:
    before = cpu_s(one.pids), cpu_s(one.broker), time.process_time()
    began = time.perf_counter()

    def calls() -> list[float]:
        latencies = []
        while not latencies or time.perf_counter() - began < seconds:
            asked_at = time.perf_counter()
            one.call(asked)
            latencies.append(time.perf_counter() - asked_at)
        return latencies

    latencies = [took for some in _everybody(pool, callers, calls) for took in some]
    wall_s, client_s = time.perf_counter() - began, time.process_time() - before[2]
    broker_s = cpu_s(one.broker) - before[1] if one.broker else None
    return Sample(latencies, wall_s, client_s, cpu_s(one.pids) - before[0], broker_s)


def cpu_row(samples: Sequence[Sample]) -> dict[str, float | None]:
    """Return the CPU time per call of the client, the worker and the broker, in milliseconds."""
    calls = sum(len(sample.latencies) for sample in samples)
    broker = [sample.broker_s for sample in samples if sample.broker_s is not None]
    return {
        'client ms': sum(sample.client_s for sample in samples) / calls * 1000,
        'worker ms': sum(sample.server_s for sample in samples) / calls * 1000,
        'broker ms': sum(broker) / calls * 1000 if broker else None,
    }
