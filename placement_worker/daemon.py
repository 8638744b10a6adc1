"""The daemon: read the configuration, build the worker, fork the processes, let each serve."""

import logging
import multiprocessing
import sys
from collections.abc import Sequence
from importlib import metadata

import cotyledon
from cotyledon import oslo_config_glue
from cotyledon.types import WorkerId
from oslo_config import cfg
from oslo_log import log

from placement_worker import config, errors
from placement_worker.cloud import Clouds
from placement_worker.cloud.inventory import Inventory
from placement_worker.policies.registry import Registry
from placement_worker.rpc import server, transport
from placement_worker.rpc.endpoints import Endpoints
from placement_worker.rpc.publisher import Publisher

PROGRAM = 'placement-worker'
LOG = logging.getLogger(__name__)


class Worker(cotyledon.Service):
    """One process: two topics, each with threads of its own."""

    name = PROGRAM

    def __init__(self, worker_id: WorkerId, conf: cfg.ConfigOpts, clouds: Clouds, registry: Registry) -> None:
        """Connect after the fork: connections cannot be shared between processes."""
        super().__init__(worker_id)
        self._transport = transport.connect(conf, transport.address(conf))
        endpoints = Endpoints(
            clouds,
            registry,
            Publisher(conf, self._transport),
            max_nodes=conf.worker.max_nodes_per_cluster,
            max_bytes=conf.worker.max_request_bytes,
        )
        self._servers = server.create(conf, self._transport, endpoints)

    def run(self) -> None:
        """Begin to serve; the threads are the servers' own."""
        for one in self._servers:
            one.start()

    def terminate(self) -> None:
        """Take no more requests, and answer those in work."""
        for one in self._servers:
            one.stop()
        for one in self._servers:
            one.wait()
        self._transport.cleanup()


def run(arguments: Sequence[str], conf: cfg.ConfigOpts = cfg.CONF) -> int:
    """Serve until a signal ends it.

    :param arguments: of the command line, e.g. `--config-file FILE`.
    :returns: the exit status: 0 after a graceful stop, 2 for a configuration that cannot work.
    """
    try:
        _configure(conf, arguments)
        clouds = _clouds(conf)
    except (cfg.Error, errors.PlacementWorkerError) as exc:
        print(f'{PROGRAM}: {exc}', file=sys.stderr)  # noqa: T201  # the log may not be there yet
        return 2
    manager = cotyledon.ServiceManager(mp_context=multiprocessing.get_context('fork'))
    manager.add(Worker, conf.worker.workers, args=(conf, clouds, Registry.installed()))
    oslo_config_glue.setup(manager, conf, reload_method='mutate')
    manager.run()
    return 0


def _configure(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Read the command line and the files it names, and set up the log.

    :raises cfg.Error: an option that does not exist or does not fit.
    """
    config.register(conf)
    log.register_options(conf)
    config.set_defaults()
    conf(arguments, project=PROGRAM, version=metadata.version(PROGRAM))
    config.validate(conf)
    log.setup(conf, PROGRAM)


def _clouds(conf: cfg.ConfigOpts) -> Clouds:
    """The cloud that `[cloud] backend` names.

    :raises ConfigurationError: it is not there, or its options do not fit.
    """
    if conf.cloud.backend != 'inventory':
        raise errors.ConfigurationError(
            f'[cloud] backend = {conf.cloud.backend} is not there yet: set it to inventory, and inventory_file to '
            'the description of a cloud'
        )
    if not conf.cloud.inventory_file:
        raise errors.ConfigurationError('[cloud] backend = inventory needs inventory_file, the description of a cloud')
    return Inventory.load(conf.cloud.inventory_file)
