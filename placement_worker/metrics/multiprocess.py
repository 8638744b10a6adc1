"""Metrics of several processes on one port.

Each process writes its metrics into a folder, and the parent serves their sum. Import this module
through `metrics.setup`, which chooses the folder first.
"""

import datetime
import functools
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from placement_worker.metrics.cordon_collector import CordonCollector, Cordons
from placement_worker.metrics.http_server import MetricsServer
from placement_worker.metrics.process_deaths import ProcessDeaths
from placement_worker.metrics.process_info import ProcessInfo
from placement_worker.metrics.prometheus import Metrics

PARENT = 'parent'


class Exporter:
    """The HTTP server of the parent, which serves the sum of the files of all processes.

    A file is named after the number of a process, not after its id as prometheus_client does by
    default: a process that replaces a dead one continues in its files, so their number is bounded.
    """

    def __init__(
        self,
        port: int,
        address: str,
        folder: str,
        on_close: Callable[[], None],
        cordons: Cordons | None = None,
    ) -> None:
        """Listen.

        :param on_close: is called after the server is closed.
        :param cordons: the cordons of the worker; None without a cordon file.
        :raises ConfigurationError: address and port cannot be used.
        """
        self._folder = folder
        self._on_close = on_close
        self._number: int | str = PARENT
        values.ValueClass = values.MultiProcessValue(lambda: self._number)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)
        registry.register(ProcessInfo())
        self._deaths = ProcessDeaths()
        registry.register(self._deaths)
        if cordons:
            now = functools.partial(datetime.datetime.now, datetime.UTC)
            registry.register(CordonCollector(cordons, now))
        self._server = MetricsServer(port, address, registry)

    def begin(self, number: int, topics: Sequence[str]) -> Metrics:
        """Return the metrics of a process; call this in the process, after the fork.

        :param number: the number of the process, from 0; a process that replaces a dead one takes
            its number.
        :param topics: the topics that the process serves.
        """
        self._server.leave()
        self._number = number
        return Metrics(topics)

    def process_died(self, _service: object, number: int, _exit_code: object) -> None:
        """Count the death, and reset the process's requests in flight; its counters stay."""
        self._deaths.count()
        mark_process_dead(number, self._folder)

    def close(self) -> None:
        """Close the port."""
        self._server.close()
        self._on_close()
