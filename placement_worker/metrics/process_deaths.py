"""The number of processes of the worker that died."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override


class ProcessDeaths(Collector):
    """Collector of the parent, which outlives its processes.

    A `Counter` of prometheus_client would write into the files of the processes.
    """

    def __init__(self) -> None:
        """Start at 0: `increase` in Prometheus misses the step that creates a series."""
        self._number = 0

    def count(self) -> None:
        """Count the death of a process."""
        self._number += 1

    @override
    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            'placement_worker_process_deaths',
            'Processes of the worker that crashed or were killed, and were replaced.',
            value=self._number,
        )
