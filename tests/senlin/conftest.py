"""Senlin in this process, with a database of its own, and a worker behind a broker."""

import senlin.cmd  # noqa: F401, I001  eventlet patches the standard library, before anything else is imported
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oslo_config import cfg
from senlin import objects
from senlin.common import config, messaging
from senlin.engine import environment

from tests.failure_logs import pytest_runtest_makereport
from tests.functional.conftest import Worker, broker_url
from tests.senlin import cloud, engine

__all__ = ['broker_url', 'pytest_runtest_makereport']
ROOT = Path(__file__).parents[2]
OWN = ROOT / '.venv/bin/placement-worker'
BESIDE_SENLIN = Path(sys.executable).with_name('placement-worker')
# The worker runs in an environment of its own, without Senlin, if `tools/test` made one.
WORKER = OWN if OWN.exists() else BESIDE_SENLIN
TOPIC = f'test-senlin-{os.getpid()}'
SENLIN_CONF = """
[DEFAULT]
transport_url = {url}
cloud_backend = openstack_test
host = test-engine
debug = true
log_file = {folder}/{program}.log
max_nodes_per_cluster = 100

[database]
connection = sqlite:///{folder}/senlin.sqlite?timeout=60

[placement_worker]
transport_url = {url}
topic = {topic}
slow_topic = {topic}-slow
timeout_s = 20
slow_timeout_s = 60
"""


@pytest.fixture(scope='session')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp('senlin')
    for name in ('servers', 'deleted'):
        (made / 'cloud' / name).mkdir(parents=True)
    os.environ[cloud.FOLDER] = str(made / 'cloud')
    return made


@pytest.fixture(scope='session')
def senlin_conf(folder: Path, broker_url: str) -> Path:
    file = folder / 'senlin.conf'
    file.write_text(
        SENLIN_CONF.format(url=broker_url, folder=folder, program='senlin', topic=TOPIC)
    )
    manage = Path(sys.executable).with_name('senlin-manage')
    subprocess.run([manage, '--config-file', file, 'db_sync'], check=True, capture_output=True)
    return file


@pytest.fixture(scope='session')
def senlin_here(senlin_conf: Path) -> None:
    """Set up Senlin in this process, in the order of `senlin.cmd.engine`."""
    config.parse_args(['senlin', '--config-file', str(senlin_conf)], 'senlin-engine')
    objects.register_all()
    messaging.setup()
    environment.initialize()
    engine.add_credential()


@pytest.fixture(scope='session')
def worker(
    senlin_here: None, broker_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    folder, inventory = tmp_path_factory.mktemp('worker'), cloud.inventory()
    running = Worker(folder, broker_url, inventory, command=(str(WORKER),), topic=TOPIC)
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.stop()


@pytest.fixture
def by_itself(senlin_here: None) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Return a context in which Senlin decides without the worker."""

    @contextlib.contextmanager
    def without_workers() -> Iterator[None]:
        cfg.CONF.set_override('transport_url', None, 'placement_worker')
        yield
        cfg.CONF.clear_override('transport_url', 'placement_worker')

    return without_workers
