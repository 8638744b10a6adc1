"""The servers of benchmarks over RabbitMQ: a private broker, workers and echoes."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import echoes
from benchmarks.clusters import CLOUD
from tests.broker import Broker
from tests.functional.conftest import OWN_BROKER, Worker

QUIET = 'debug = false'
NOTIFIES = f'{QUIET}\n[oslo_messaging_notifications]\ndriver = messagingv2'


@dataclass(frozen=True)
class Bus:
    """The address of the broker, and its processes if this run started it."""

    url: str
    pids: Sequence[int]


@contextlib.contextmanager
def bus() -> Iterator[Bus]:
    """Return the broker that the environment names, as for the tests, else a private one."""
    if OWN_BROKER in os.environ:
        yield Bus(os.environ[OWN_BROKER], [])
        return
    broker = Broker()
    try:
        yield Bus(broker.start().url, [broker.pid])
    finally:
        broker.close()


@contextlib.contextmanager
def worker(
    url: str,
    processes: int = 1,
    settings: str = QUIET,
    cloud: object = CLOUD,
    **options: object,
) -> Iterator[Worker]:
    """Start a worker, and stop it at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        started = Worker(Path(folder), url, cloud, settings, workers=processes, **options)
        try:
            started.wait_until_ready()
            yield started
        finally:
            started.stop()


@contextlib.contextmanager
def echo(kind: str, url: str, topics: Sequence[str], processes: int) -> Iterator[list[int]]:
    """Start processes that serve an echo on each topic, and yield their process ids."""
    command = [sys.executable, '-m', 'benchmarks.echoes', kind, url, *topics]
    served = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    try:
        for one in served:
            if one.stdout is None or one.stdout.readline().strip() != echoes.READY:
                raise RuntimeError(f'The echo of {kind} did not start')
        yield [one.pid for one in served]
    finally:
        for one in served:
            one.kill()
            one.communicate()
