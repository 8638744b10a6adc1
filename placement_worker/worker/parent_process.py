"""The parent of the worker's processes: configure, create, fork, and wait for a signal.

The lines of the log about stops and deaths are this module's own: cotyledon 2.2 logs them at INFO
under a logger of its own, which `conf/logging.conf` leaves out, and a log must
distinguish a worker that was killed or crashed from one that was stopped.
"""

import gc
import logging
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial

import cotyledon
from cotyledon import oslo_config_glue
from oslo_config import cfg

from placement_worker.client.transport import control_exchange
from placement_worker.contract.model import Package
from placement_worker.formats.text import counted
from placement_worker.health.watchdog import COLUMNS, HeartbeatTable
from placement_worker.messaging import notifications, rpc_server
from placement_worker.policies.registry import Registry
from placement_worker.worker import factory, guru_meditation, startup
from placement_worker.worker.reload import ReloadableConfig
from placement_worker.worker.servers import HELD_SIGNALS, WorkerProcess

CONFIGURATION_FAILED = 2  # the exit status for a configuration that cannot work
INTERRUPTED = 130  # the exit status after Ctrl-C, as of a shell
LOG = logging.getLogger(__name__)


def run(arguments: Sequence[str], conf: cfg.ConfigOpts = cfg.CONF) -> int:
    """Serve until a signal ends the worker.

    :param arguments: of the command line, e.g. `--config-file FILE`.
    :returns: the exit status: 0 after a graceful stop, or `CONFIGURATION_FAILED`.
    """
    receive_signals()
    private = partial(tempfile.TemporaryDirectory, ignore_cleanup_errors=True)
    with logged_end(), private(prefix=f'{startup.PROGRAM}-') as folder:
        try:
            startup.configure(conf, arguments)
            servers = _create_factory(conf, os.path.join(folder, 'load-balancers.json'))
        except startup.STARTUP_ERRORS as exc:
            startup.report_failure(conf, exc)
            return CONFIGURATION_FAILED
        with closing(servers.exporter) if servers.exporter else nullcontext():
            _serve(conf, servers)
    return 0


def _create_factory(conf: cfg.ConfigOpts, state_file: str) -> factory.ServerFactory:
    guru_meditation.setup(conf, startup.PROGRAM)
    startup.prepare_tracing(conf)
    clouds, cordons = factory.create_clouds(conf, state_file), factory.create_cordons(conf)
    notifications.check(conf)
    registry = Registry.installed()
    factory.declare_queues(conf)
    # The recorder creates its file, so the other options are checked before.
    recorder = factory.create_recorder(conf, registry.packages)
    exporter = factory.create_exporter(conf, cordons)
    return factory.ServerFactory(conf, clouds, registry, recorder, exporter, cordons)


def _serve(conf: cfg.ConfigOpts, servers: factory.ServerFactory) -> None:
    rpc_server.limit_requests(lambda: conf.worker.max_request_bytes)
    _log_start(conf, servers.registry)
    cells = multiprocessing.RawArray('d', conf.worker.workers * COLUMNS)
    heartbeats = HeartbeatTable(cells, time.monotonic())
    watchdog = factory.create_watchdog(conf, heartbeats, os.environ)
    # Python 3.14 has another default, and the manager of cotyledon 2.0 takes no context.
    multiprocessing.set_start_method('fork', force=True)
    # cotyledon 2.0 does not set the timeout from the configuration.
    manager = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout)
    manager.add(WorkerProcess, conf.worker.workers, args=(conf, servers.create, heartbeats))
    oslo_config_glue.setup(manager, ReloadableConfig(conf), reload_method='mutate')
    crashes = servers.crashes
    manager.register_hooks(
        on_terminate=_log_stop, on_dead_worker=lambda _, number, __: crashes.record_death(number)
    )
    manager.register_hooks(
        on_terminate=watchdog.begin_stop,
        on_dead_worker=servers.exporter.process_died if servers.exporter else None,
    )
    manager.register_hooks(on_dead_worker=warn_of_death)
    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS),
    )
    gc.freeze()  # forks go on sharing the memory of the present objects
    watchdog.start()
    with closing(watchdog):
        manager.run()


def _log_start(conf: cfg.ConfigOpts, registry: Registry) -> None:
    types: dict[Package, list[str]] = {}
    for name, package in registry.packages.items():
        types.setdefault(package, []).append(name)
    for package, names in types.items():
        LOG.info('Policy types of %s %s: %s', package.name, package.version, ', '.join(names))
    LOG.info(
        'Serving %s and %s of exchange %s as %s, with %s',
        conf.worker.topic,
        conf.worker.slow_topic,
        control_exchange(conf),
        conf.worker.host,
        counted(conf.worker.workers, 'process', 'processes'),
    )


class _StartStopped(BaseException):
    """SIGTERM or SIGINT came before cotyledon received the signals.

    It is no SystemExit: the start continues after a SystemExit of a plugin's module.
    """

    def __init__(self, number: int) -> None:
        """Set the name of the signal, and the exit status: a stop by SIGTERM is a success."""
        super().__init__(number)
        self.signal = signal.Signals(number).name
        self.status = INTERRUPTED if number == signal.SIGINT else 0


def receive_signals() -> None:
    """Stop the start on SIGTERM or SIGINT; ignore SIGHUP until cotyledon receives the signals."""
    signal.signal(signal.SIGTERM, _stop_start)
    signal.signal(signal.SIGINT, _stop_start)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _stop_start(number: int, _: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # another one must not end the cleanup
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise _StartStopped(number)


@contextmanager
def logged_end() -> Iterator[None]:
    """Log the end of an orderly stop, at which cotyledon raises `SystemExit`.

    :raises SystemExit: a signal stopped the start.
    """
    try:
        yield
    except SystemExit:
        LOG.info('Stopped')
        raise
    except _StartStopped as exc:
        LOG.info('Stopping after %s: the worker does not serve yet', exc.signal)
        LOG.info('Stopped')
        raise SystemExit(exc.status) from exc


def _log_stop() -> None:
    LOG.info('Stopping after SIGTERM: the processes finish their requests in flight')


def warn_of_death(_service: object, number: int, exit_code: int) -> None:
    """Log the death of a process; cotyledon starts another one in its place.

    :param exit_code: the exit status, or the negative number of the signal that killed the process.
    """
    LOG.warning(
        'Process %d of the worker %s; another process takes its place, and the broker delivers '
        'its requests in flight again',
        number,
        f'was killed by {_signal_name(-exit_code)}'
        if exit_code < 0
        else f'exited with status {exit_code}',
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f'signal {number}'
