"""A broker for the test run and workers on it."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import kombu
import oslo_messaging
import pytest
import yaml
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.client.transport import connect, transport_url
from placement_worker.contract.rpc import EXCHANGE
from placement_worker.errors import NoWorkerAnswered
from tests import failure_logs
from tests.broker import Broker
from tests.functional.engine import Engine, Gate
from tests.waiting import DEADLINE_S, wait_for

HERE = Path(__file__).parent
CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}
# Where a worker finds the policy `test.policy.slow`.
PLUGIN = HERE / 'plugin'
OWN_BROKER = 'PLACEMENT_WORKER_TEST_TRANSPORT_URL'
START_TIMEOUT_S = 180
CALL_S = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """oslo.messaging, in the engine that this process is, leaves sockets of lost connections to the
    collector.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
            )


@pytest.fixture(autouse=True, scope='module')
def lost_sockets() -> Iterator[None]:
    """Collect them here, and not during the tests of another folder."""
    yield
    gc.collect()


@pytest.fixture(scope='session')
def broker_url() -> Iterator[str]:
    """The broker that the environment names, else a private one."""
    if OWN_BROKER in os.environ:
        yield os.environ[OWN_BROKER]
        return
    with contextlib.closing(Broker()) as broker:
        yield broker.start().url


@pytest.fixture
def channel(broker_url: str) -> Iterator[Any]:
    """A channel of its own to the broker of the test run."""
    with amqp(broker_url) as connection:
        yield connection.channel()


def message_count(url: str, queue: str) -> int:
    with amqp(url) as connection:
        return int(connection.channel().queue_declare(queue, passive=True).message_count)


def run(program: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name(program)), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=DEADLINE_S, **options
    )


@contextlib.contextmanager
def raw_client(worker: 'Worker') -> Iterator[Any]:
    """A client of oslo.messaging that checks nothing, as in other engines."""
    connection = connect(cfg.CONF, transport_url(cfg.CONF, worker.url))
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=worker.topic, version='1.0')
    yield oslo_messaging.get_rpc_client(connection, target, timeout=CALL_S)
    connection.cleanup()


def amqp(url: str) -> kombu.Connection:
    """Return a connection beside the messaging layer, on which a publish waits for the broker.

    Under load, RabbitMQ 3.10 lost unconfirmed messages of a connection that closed at once. The
    wait is bounded: py-amqp would wait forever for a confirmation that never comes.
    """
    options = {'confirm_publish': True, 'read_timeout': DEADLINE_S, 'write_timeout': DEADLINE_S}
    return kombu.Connection(
        url.replace('rabbit://', 'amqp://'), connect_timeout=DEADLINE_S, transport_options=options
    )


def configured(folder: Path, url: str, cloud: object, settings: str = '', **options: Any) -> Path:
    """Write the configuration of a worker.

    :param cloud: describes the embedded one; a string is configuration that names another one.
    :param options: of the group `worker`.
    """
    file = folder / 'cloud.yaml'
    file.write_text(yaml.safe_dump(cloud))
    embedded = f'[cloud]\nbackend = inventory\ninventory_file = {file}'
    given = {'host': 'testhost', 'slow_topic': f'{options["topic"]}-slow', **options}
    config = folder / 'worker.conf'
    config.write_text(
        f'[DEFAULT]\ntransport_url = {url}\n{settings}\n'
        f'{cloud if isinstance(cloud, str) else embedded}\n'
        '[worker]\n' + ''.join(f'{name} = {value}\n' for name, value in given.items())
    )
    return config


class Worker:
    """A placement-worker process with topics of its own, its configuration and its log.

    `environment` has variables beside those of this process.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        cloud: object,
        settings: str = '',
        command: Sequence[str] = (str(Path(sys.executable).with_name('placement-worker')),),
        environment: Mapping[str, str] = MappingProxyType({}),
        **options: object,
    ) -> None:
        self.topic = str(options.get('topic', f'test-{os.getpid()}-{time.monotonic_ns()}'))
        self._command, self._environment = command, {**os.environ, **environment}
        self.url = url
        self.log = folder / 'worker.log'
        self.stderr = folder / 'stderr'
        failure_logs.watch(self.log, self.stderr)
        logged = f'debug = true\nlog_options = false\nlog_file = {self.log}\n{settings}'
        given = {'workers': 1, 'topic': self.topic, **options}
        self.config = configured(folder, url, cloud, logged, **given)
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with self.stderr.open('wb') as stderr:
            return subprocess.Popen(
                [*self._command, '--config-file', str(self.config)],
                stderr=stderr,
                env=self._environment,
            )

    def children(self) -> list[int]:
        """The processes that serve, without those that have ended."""
        pids = [int(name) for name in os.listdir('/proc') if name.isdecimal()]
        return sorted(pid for pid in pids if self._is_child(pid))

    def _is_child(self, pid: int) -> bool:
        with contextlib.suppress(OSError):  # the process has ended
            state, parent = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[:2]
            return int(parent) == self.process.pid and state != 'Z'
        return False

    def client(self, **more: object) -> PolicyClient:
        topics = {'topic': self.topic, 'slow_topic': f'{self.topic}-slow'}
        given = {'url': self.url, 'timeout_s': CALL_S, **topics, **more}
        return PolicyClient(**given)  # type: ignore[arg-type]

    def wait_until_ready(self) -> None:
        with contextlib.closing(self.client(timeout_s=5)) as client:
            wait_for(lambda: has_ended(self.process) or responds(client), START_TIMEOUT_S)
        assert not has_ended(self.process), 'the worker ended before it served'

    def stop(self) -> int:
        """End it gracefully and return its exit status.

        :raises subprocess.TimeoutExpired: it did not end; its stacks are in the file `stderr`.
        """
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.end_all(signal.SIGABRT)  # faulthandler writes their stacks
            raise

    def end_all(self, by: signal.Signals = signal.SIGKILL) -> None:
        """End all processes at once, also those that do not stop."""
        for pid in [self.process.pid, *self.children()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, by)
        self.process.wait(START_TIMEOUT_S)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


def responds(client: PolicyClient) -> bool:
    """Return whether a worker replies on the topic of a client, within the client's timeout."""
    try:
        client.get_capabilities()
    except NoWorkerAnswered:
        return False
    return True


Start = Callable[..., Worker]


@pytest.fixture(scope='module')
def start_worker(broker_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start workers with the slow policy and wait until they reply; they end with the module."""
    with contextlib.ExitStack() as workers:

        def start(
            settings: str = '',
            *,
            cloud: object = CLOUD,
            url: str = broker_url,
            environment: Mapping[str, str] = MappingProxyType({}),
            **options: Any,
        ) -> Worker:
            folder, known = tmp_path_factory.mktemp('worker'), {'PYTHONPATH': str(PLUGIN)}
            worker = Worker(
                folder, url, cloud, settings, environment={**known, **environment}, **options
            )
            workers.callback(worker.stop)
            worker.wait_until_ready()
            return worker

        yield start


@pytest.fixture(scope='module')
def own_broker() -> Iterator[Broker]:
    with contextlib.closing(Broker()) as broker:
        yield broker.start()


@pytest.fixture
def start(start_worker: Start, own_broker: Broker) -> Iterator[Start]:
    """Start workers on the broker that may be killed; the end of the test kills them."""
    with contextlib.ExitStack() as workers:

        def start(**options: Any) -> Worker:
            worker = start_worker(**{'url': own_broker.url, **options})
            workers.callback(worker.end_all)
            return worker

        yield start


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Hold requests; the worker must know the slow policy."""
    return Gate(tmp_path)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Callable[[Worker], Engine]]:
    """Make an engine for a worker; it ends with the test."""
    with contextlib.ExitStack() as engines:

        def make(worker: Worker) -> Engine:
            runs = tmp_path / 'runs'
            runs.touch()
            return engines.enter_context(contextlib.closing(Engine(worker, runs)))

        yield make
