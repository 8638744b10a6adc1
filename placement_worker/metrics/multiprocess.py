"""Metrics of several processes on one port: each writes its own to a folder, and their parent shows
the sum.

Import this through `metrics.share`, which chooses the folder first.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from placement_worker.errors import ConfigurationError
from placement_worker.events.listener import Observer
from placement_worker.health import periodic
from placement_worker.metrics import exemplars
from placement_worker.metrics.exemplars import Exemplars, Key
from placement_worker.metrics.prometheus import Metrics

PARENT = 'parent'
WRITE_S = 0.5
LOG = logging.getLogger(__name__)


class Port:
    """As `Sharing`: the parent answers Prometheus from the files of all processes.

    The files are named by the number of a process and not by its id, as prometheus_client would:
    one that takes the place of a dead one goes on counting in its files, so there are never more
    than processes.
    """

    def __init__(self, port: int, address: str, folder: str, on_close: Callable[[], None]) -> None:
        """Listen.

        :raises ConfigurationError: the port cannot be used.
        """
        self._folder, self._on_close = folder, on_close
        self._number: int | str = PARENT
        self._exemplars = Exemplars()
        values.ValueClass = _value_class(lambda: self._number, self._exemplars)
        registry = CollectorRegistry()
        registry.register(Sum(folder))
        try:
            self._server, self._thread = start_http_server(port, address, registry)
        except (OSError, OverflowError) as exc:
            told = getattr(exc, 'strerror', None) or exc
            raise ConfigurationError(
                f'[metrics] address {address} and port {port} cannot be used: {told}'
            ) from exc

    def begin(self, number: int) -> Observer:
        """As `Sharing.begin`."""
        self._server.socket.close()  # that of the parent, which alone answers
        self._number = number
        periodic.repeat(self._write_exemplars, WRITE_S)
        return Metrics()

    def forget(self, number: int) -> None:
        """As `Sharing.forget`."""
        mark_process_dead(number, self._folder)

    def close(self) -> None:
        """As `Sharing.close`."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._on_close()

    def _write_exemplars(self) -> None:
        try:
            self._exemplars.write(self._folder, int(self._number))
        except OSError as exc:
            LOG.warning('Exemplars cannot be written: %s', exc)


class Sum(Collector):
    """The sum of what all processes have written, with the last exemplars."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._collector: Any = MultiProcessCollector(None, folder)

    def collect(self) -> Iterable[Metric]:
        """The metrics as they are now."""
        last = exemplars.read(self._folder)
        metrics: list[Metric] = list(self._collector.collect())
        for metric in metrics:
            exemplars.attach(metric, last)
        return metrics


def _value_class(number: Callable[[], int | str], kept: Exemplars) -> Any:
    """What prometheus_client keeps the value of a sample in: in the process's file, and the
    exemplar too.
    """
    in_file: Any = values.MultiProcessValue(number)

    class Value(in_file):  # type: ignore[misc]
        def __init__(
            self,
            typ: str,
            metric_name: str,
            name: str,
            labelnames: Any,
            labelvalues: Any,
            help_text: str,
            **more: Any,
        ) -> None:
            super().__init__(typ, metric_name, name, labelnames, labelvalues, help_text, **more)
            self._sample = Key.of(name, dict(zip(labelnames, labelvalues, strict=True)))

        def set_exemplar(self, exemplar: Any) -> None:
            kept.put(self._sample, exemplar)

    return Value
