"""The parent of the worker's processes: configure, create, fork, and wait for a signal."""

import gc
import logging
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext

import cotyledon
from cotyledon import oslo_config_glue
from oslo_config import cfg

from placement_worker.client.transport import control_exchange
from placement_worker.contract.model import Package
from placement_worker.formats.text import counted
from placement_worker.health.heartbeats import COLUMNS, HeartbeatTable
from placement_worker.messaging import notifications, rpc_server
from placement_worker.metrics import setup
from placement_worker.policies.registry import Registry
from placement_worker.worker import (
    cloud_factory,
    cordon_factory,
    guru_meditation,
    process_deaths,
    queues,
    recorder_factory,
    startup,
    stop_log,
    watchdog_factory,
)
from placement_worker.worker.reload import ReloadableConfig
from placement_worker.worker.server_factory import ServerFactory
from placement_worker.worker.worker_process import WorkerProcess

LOG = logging.getLogger(__name__)
CONFIGURATION_FAILED = 2
"""The exit status for a configuration that cannot work."""


def run(arguments: Sequence[str], conf: cfg.ConfigOpts = cfg.CONF) -> int:
    """Serve until a signal ends the worker.

    :param arguments: of the command line, e.g. `--config-file FILE`.
    :returns: the exit status: 0 after a graceful stop, or `CONFIGURATION_FAILED`.
    """
    stop_log.receive_signals()
    with stop_log.logged_end(), _private_folder() as folder:
        try:
            startup.configure(conf, arguments)
            factory = _create_factory(conf, os.path.join(folder, 'load-balancers.json'))
        except startup.STARTUP_ERRORS as exc:
            startup.report_failure(conf, exc)
            return CONFIGURATION_FAILED
        exporter = closing(factory.exporter) if factory.exporter else nullcontext()
        with exporter:
            _serve(conf, factory)
    return 0


def _create_factory(conf: cfg.ConfigOpts, state_file: str) -> ServerFactory:
    guru_meditation.setup(conf, startup.PROGRAM)
    rpc_server.prepare_tracing(conf)
    clouds, cordons = cloud_factory.create(conf, state_file), cordon_factory.create(conf)
    notifications.check(conf)
    registry = Registry.installed()
    queues.declare(conf)
    # The recorder creates its file, so the other options are checked before.
    recorder = recorder_factory.create(conf, registry.packages)
    metrics = conf.metrics
    exporter = setup.export(metrics.port, metrics.address, metrics.folder, cordons)
    return ServerFactory(conf, clouds, registry, recorder, exporter, cordons)


def _serve(conf: cfg.ConfigOpts, factory: ServerFactory) -> None:
    rpc_server.limit_requests(lambda: conf.worker.max_request_bytes)
    _log_start(conf, factory.registry)
    cells = multiprocessing.RawArray('d', conf.worker.workers * COLUMNS)
    heartbeats = HeartbeatTable(cells, time.monotonic())
    watchdog = watchdog_factory.create(conf, heartbeats, os.environ)
    # Python 3.14 has another default, and the manager of cotyledon 2.0 takes no context.
    multiprocessing.set_start_method('fork', force=True)
    # cotyledon 2.0 does not set the timeout from the configuration.
    manager = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout)
    manager.add(WorkerProcess, conf.worker.workers, args=(conf, factory, heartbeats))
    oslo_config_glue.setup(manager, ReloadableConfig(conf), reload_method='mutate')
    manager.register_hooks(on_terminate=stop_log.begin)
    manager.register_hooks(
        on_terminate=watchdog.begin_stop,
        on_dead_worker=factory.exporter.process_died if factory.exporter else None,
    )
    manager.register_hooks(on_dead_worker=process_deaths.warn)
    gc.freeze()  # forks go on sharing the memory of the present objects
    watchdog.start()
    with closing(watchdog):
        manager.run()


@contextmanager
def _private_folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix=f'{startup.PROGRAM}-')
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _log_start(conf: cfg.ConfigOpts, registry: Registry) -> None:
    """Log what the worker serves, and the packages whose policy types it has loaded."""
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
