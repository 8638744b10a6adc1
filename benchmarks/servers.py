"""The servers of benchmarks over RabbitMQ: a private broker, a worker and an echo."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import echoes
from benchmarks.clusters import CLOUD
from tests.broker import Broker
from tests.functional.conftest import OWN_BROKER, Worker


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """Yield the URL of the broker that the environment names, or of a private one."""
    if OWN_BROKER in os.environ:
        yield os.environ[OWN_BROKER]
        return
    with contextlib.closing(Broker()) as started:
        yield started.start().url


@contextlib.contextmanager
def worker(url: str) -> Iterator[Worker]:
    """Start a worker with one process, and stop it at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        started = Worker(Path(folder), url, CLOUD, 'debug = false')
        try:
            started.wait_until_ready()
            yield started
        finally:
            started.stop()


@contextlib.contextmanager
def echo(url: str, topic: str) -> Iterator[None]:
    """Start a process that serves an echo on the topic, and kill it at the end of the block."""
    command = [sys.executable, '-m', 'benchmarks.echoes', url, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or process.stdout.readline().strip() != echoes.READY:
                raise RuntimeError('The echo did not start')
            yield
        finally:
            process.kill()
