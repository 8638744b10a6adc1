"""The version and the start time of a worker."""

import platform
from collections.abc import Iterator
from importlib import metadata

from prometheus_client import ProcessCollector
from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

VERSIONS = {
    'version': metadata.version('placement-worker'),
    'python_version': platform.python_version(),
}


class ProcessInfo(Collector):
    """Collector of the parent: it has one value per worker, not one per process.

    Of the series that `ProcessCollector` has, only the start time describes the whole worker. CPU
    time, memory and open files would be those of the parent alone.
    """

    def __init__(self) -> None:
        self._process = ProcessCollector(registry=None)

    @override
    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily(
            'placement_worker_build', 'Versions of the worker and of Python.', VERSIONS
        )
        for family in self._process.collect():
            if family.name == 'process_start_time_seconds':
                yield family
