"""Requests that arrive at random times: how many wait and for how long, beside the model."""

import contextlib
import itertools
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.queueing import Queue, waits
from benchmarks.results import Row

USES = (0.3, 0.5, 0.7, 0.85)
CALLERS = 96  # more than ever wait at once
SAMPLE_S = 0.1
SEED = 20261123


@dataclass(frozen=True)
class Station:
    """A worker process whose threads are the servers of a queue.

    `call` makes a call that sleeps in the worker for some seconds. `sleep` draws those seconds.
    `waiting` returns how many requests no thread has.
    """

    what: str
    threads: int
    call: Callable[[float], Any]
    sleep: Callable[[random.Random], float]
    waiting: Callable[[], int]


@dataclass(frozen=True)
class Service:
    """The time for which a call occupies a thread, and how long a call takes without a queue."""

    mean_s: float
    variation: float
    latency_s: float


def rows(station: Station, seconds: float) -> Iterator[Row]:
    """Measure the service times, and then each use for the given number of seconds."""
    service = _service(station, seconds / 4)
    for use in USES:
        queue = Queue(
            use * station.threads / service.mean_s,
            service.mean_s,
            station.threads,
            service.variation,
        )
        yield {
            'what': station.what,
            'threads': station.threads,
            **_row(station, service, queue, seconds),
        }


def _service(station: Station, seconds: float) -> Service:
    """Measure with one caller, and with more callers than threads.

    A single caller finds no queue: the variation of its latencies, without the sleeps, is that of
    the path. With many callers, each thread begins the next call as soon as it can.
    """
    draw = random.Random(SEED)
    alone = [(took, slept) for _, took, slept in _calls(station, draw, 1, seconds)]
    saturated = _calls(station, draw, station.threads * 4, seconds)
    first, *_, last = sorted(ended for ended, _, _ in saturated)
    mean_s = station.threads * (last - first) / (len(saturated) - 1)
    latencies = [took for took, _ in alone]
    return Service(
        mean_s,
        statistics.stdev(latencies) / mean_s,
        statistics.fmean(took - slept for took, slept in alone),
    )


def _calls(
    station: Station, draw: random.Random, callers: int, seconds: float
) -> list[tuple[float, float, float]]:
    """Call without a pause; return when each call ended, its duration and its sleep."""
    found = []
    until = time.perf_counter() + seconds

    def calls(_: int) -> None:
        while (began := time.perf_counter()) < until:
            slept = station.sleep(draw)
            station.call(slept)
            ended = time.perf_counter()
            found.append((ended, ended - began, slept))

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(calls, range(callers)))
    return found


def _row(station: Station, service: Service, queue: Queue, seconds: float) -> Row:
    draw = random.Random(SEED)
    arrivals = list(
        itertools.takewhile(
            lambda at: at < seconds,
            itertools.accumulate(draw.expovariate(queue.arrivals) for _ in itertools.count()),
        )
    )
    sleeps = [station.sleep(draw) for _ in arrivals]
    with _queue_lengths(station) as lengths:
        latencies = _arrive(station, arrivals, sleeps)
    path_s = service.mean_s - statistics.fmean(sleeps)
    replayed = waits(arrivals, [slept + path_s for slept in sleeps], queue.servers)
    waited = sorted(
        took - slept - service.latency_s for took, slept in zip(latencies, sleeps, strict=True)
    )
    return {
        'use': queue.use,
        'per s': queue.arrivals,
        'variation': queue.variation,
        'waiting': statistics.fmean(lengths),
        'model': queue.waiting,
        'M/M/c': Queue(queue.arrivals, queue.service_s, queue.servers).waiting,
        'mean ms': statistics.fmean(waited) * 1000,
        'replayed': statistics.fmean(replayed) * 1000,
        'formula': queue.wait_s * 1000,
        'p50 ms': max(0.0, statistics.median(waited)) * 1000,
        'p50 model': queue.longest_wait_s(0.5) * 1000,
        'p95 ms': max(0.0, waited[len(waited) * 95 // 100]) * 1000,
        'p95 model': queue.longest_wait_s(0.95) * 1000,
    }


def _arrive(station: Station, arrivals: Sequence[float], sleeps: Sequence[float]) -> list[float]:
    """Call at these times; return how long each call took from its time on."""
    began = time.perf_counter() + SAMPLE_S

    def call(at: float, slept: float) -> float:
        station.call(slept)
        return time.perf_counter() - began - at

    with ThreadPoolExecutor(CALLERS) as pool:
        calls = []
        for at, slept in zip(arrivals, sleeps, strict=True):
            time.sleep(max(0.0, began + at - time.perf_counter()))
            calls.append(pool.submit(call, at, slept))
        return [each.result() for each in calls]


@contextlib.contextmanager
def _queue_lengths(station: Station) -> Iterator[list[int]]:
    """Sample the number of waiting requests."""
    lengths: list[int] = []
    enough = threading.Event()

    def ask() -> None:
        while not enough.wait(SAMPLE_S):
            lengths.append(station.waiting())

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield lengths
    finally:
        enough.set()
        thread.join()
