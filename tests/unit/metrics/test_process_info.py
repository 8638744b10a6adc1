"""The version and the start time of a worker."""

import os
import platform
from importlib import metadata
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from placement_worker.metrics.process_info import ProcessInfo


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    registry.register(ProcessInfo())
    return registry


def test_build_info_of_a_worker_names_its_version_and_that_of_python(registry):
    """The labels of the series are the versions of the worker and of Python."""
    labels = {
        'version': metadata.version('placement-worker'),
        'python_version': platform.python_version(),
    }

    assert registry.get_sample_value('placement_worker_build_info', labels) == 1


def test_start_time_of_a_process_is_the_one_that_the_kernel_reports(registry):
    """The start time is in seconds since the epoch, as the kernel reports it."""
    ticks = int(Path('/proc/self/stat').read_text().rpartition(')')[2].split()[19])
    (boot_s,) = (
        float(line.split()[1])
        for line in Path('/proc/stat').read_text().splitlines()
        if line.startswith('btime')
    )

    started_s = boot_s + ticks / os.sysconf('SC_CLK_TCK')

    assert registry.get_sample_value('process_start_time_seconds') == pytest.approx(started_s)


def test_series_of_a_worker_are_only_those_of_the_whole_worker(registry):
    """CPU time, memory and open files of the parent are not exported."""
    assert {family.name for family in registry.collect()} == {
        'placement_worker_build',
        'process_start_time_seconds',
    }
