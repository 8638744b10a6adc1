"""A private RabbitMQ for tests, with its own ports, node name, data folder and epmd."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests import failure_logs
from tests.freezing import frozen
from tests.ports import free_ports
from tests.process_reaper import Program, Reaper

# The folder of the broker's programs: of the distribution, or of `tools/rabbitmq-4`.
SCRIPTS = Path(os.environ.get('PLACEMENT_WORKER_TEST_RABBITMQ', '/usr/lib/rabbitmq/bin'))
START_TIMEOUT_S = 180
# Arguments that keep several Erlang VMs from spinning on two cores.
LEAN = '+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none'


@dataclass(frozen=True)
class Host:
    """Where a node runs: its name, address and network namespace, and variables of its Erlang."""

    name: str = 'localhost'
    address: str = '127.0.0.1'
    inside: Callable[[], AbstractContextManager[None]] = nullcontext
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def epmd(self) -> tuple[str, ...]:
        """The command of an epmd that listens there."""
        return 'epmd', '-address', self.address


LOOPBACK = Host()


def program(name: str) -> str:
    """Return the script in `SCRIPTS`; the wrapper of Debian in PATH requires its user."""
    path = shutil.which(name, path=f'{SCRIPTS}{os.pathsep}{os.environ["PATH"]}')
    if path is None:
        raise RuntimeError(f'{name} is not installed; see the README on running the tests')
    return path


class Broker:
    """A RabbitMQ node. Its data survive `kill` and `start`; `close` removes them."""

    def __init__(
        self,
        tls: Mapping[str, Path] | None = None,
        epmd_port: int | None = None,
        erlang_arguments: str = '',
        host: Host = LOOPBACK,
    ) -> None:
        """Prepare the node's folder.

        :param tls: the files `cacertfile`, `certfile` and `keyfile`, and the node listens with TLS
            alone; None for plain text alone.
        :param epmd_port: the port of an epmd that runs already, or on another host than loopback of
            a private one; None starts a private one on any port.
        :param erlang_arguments: more arguments for the Erlang VM.
        """
        self.host = host
        self.port, self._dist_port, private_epmd_port = free_ports(3)
        self._epmd_port = epmd_port or private_epmd_port
        self._has_private_epmd = epmd_port is None or host is not LOOPBACK
        self._erlang_arguments = erlang_arguments
        self.folder = Path(tempfile.mkdtemp(prefix='placement-worker-broker-'))
        (self.folder / 'plugins').write_text('[].')
        (self.folder / 'rabbitmq.conf').write_text(
            f'disk_free_limit.absolute = 1MB\nloopback_users = none\n{self._listeners(tls)}'
        )
        self._reaper: Reaper | None = None
        failure_logs.watch(self.folder / 'output', self.folder / 'log' / f'{self.name}.log')

    def _listeners(self, tls: Mapping[str, Path] | None) -> str:
        if tls is None:
            return f'listeners.tcp.default = {self.host.address}:{self.port}\n'
        files = ''.join(f'ssl_options.{name} = {file}\n' for name, file in tls.items())
        return (
            f'listeners.tcp = none\nlisteners.ssl.default = 127.0.0.1:{self.port}\n{files}'
            'ssl_options.verify = verify_none\nssl_options.fail_if_no_peer_cert = false\n'
        )

    @property
    def name(self) -> str:
        return f'test-{self.port}@{self.host.name}'

    @property
    def pid(self) -> int:
        return int((self.folder / 'pid').read_text())

    @property
    def url(self) -> str:
        return f'rabbit://guest:guest@{self.host.address}:{self.port}/'

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the programs of the broker find this node and no other."""
        folder = str(self.folder)
        return {
            'PATH': os.environ['PATH'],
            'LANG': 'C.UTF-8',
            'HOME': folder,
            'ERL_EPMD_PORT': str(self._epmd_port),
            'ERL_EPMD_ADDRESS': self.host.address,
            **self.host.environment,
            'RABBITMQ_NODENAME': self.name,
            'RABBITMQ_DIST_PORT': str(self._dist_port),
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_CONFIG_FILE': f'{folder}/rabbitmq.conf',
            'RABBITMQ_ENABLED_PLUGINS_FILE': f'{folder}/plugins',
            'RABBITMQ_MNESIA_BASE': f'{folder}/data',
            'RABBITMQ_LOG_BASE': f'{folder}/log',
            'RABBITMQ_PID_FILE': f'{folder}/pid',
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': (
                f'-kernel inet_dist_use_interface {{{self.host.address.replace(".", ",")}}} '
                f'{self._erlang_arguments}'
            ),
        }

    def configure(self, settings: str) -> None:
        """Append lines to `rabbitmq.conf`; they take effect at the next start."""
        with (self.folder / 'rabbitmq.conf').open('a') as file:
            file.write(settings)

    def start(self) -> Self:
        """Start the node and wait until it takes connections."""
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        output = str(self.folder / 'output')
        programs = [Program([program('rabbitmq-server')], output)]
        if self._has_private_epmd:
            programs.insert(0, Program(self.host.epmd, output))
        with self.host.inside():
            self._reaper = Reaper(self.folder, programs, self.environment)

    def control(self, *arguments: str) -> str:
        """Run rabbitmqctl on this node and return what it prints."""
        with self.host.inside():
            done = subprocess.run(
                [program('rabbitmqctl'), '--quiet', *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                check=True,
                capture_output=True,
                text=True,
                timeout=START_TIMEOUT_S,
            )
        return done.stdout

    def flush(self) -> None:
        """Write to disk what the node keeps in memory for up to some seconds.

        RabbitMQ 3.10.8 loses bindings, and quorum queues never elect a leader again, that were
        declared shortly before the node is killed.
        """
        self.control('eval', 'mnesia:sync_log(), [dets:sync(Table) || Table <- dets:all()].')

    def kill(self) -> None:
        """End the node at once, as a power cut would; its data stay.

        Call `flush` first if queues were declared shortly before and are used later.
        """
        if self._reaper is not None:
            self._reaper.close(keep_folder=True)
            self._reaper = None

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """Kill the node, and start it again after a block."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def memory_alarm(self) -> Iterator[None]:
        """Raise a memory alarm during a block, which blocks all connections that publish."""
        self.control('set_vm_memory_high_watermark', 'absolute', '1')
        try:
            yield
        finally:
            self.control('set_vm_memory_high_watermark', '0.6')

    def frozen(self) -> AbstractContextManager[None]:
        """Stop the Erlang VM during a block; its connections stay open."""
        return frozen(self.pid)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_until_ready(self) -> None:
        """Return when the node takes connections.

        :raises RuntimeError: it did not in time; the text is its output.
        """
        assert self._reaper is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self._reaper.runs:
            with (
                self.host.inside(),
                contextlib.suppress(OSError),
                socket.create_connection((self.host.address, self.port), 1) as probe,
            ):
                probe.sendall(b'AMQP\0\0\x09\x01')
                if probe.recv(1):
                    return
            time.sleep(0.1)
        output = (self.folder / 'output').read_text(errors='replace')
        self.close()
        raise RuntimeError(f'RabbitMQ did not start within {START_TIMEOUT_S} s:\n{output}')
