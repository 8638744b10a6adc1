"""Exemplars of several processes: prometheus_client drops them there, so each process writes its
own to a file.

An exemplar names the request that was measured last in a bucket of a histogram.
"""

import glob
import json
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Exemplar, Sample

from placement_worker.health.liveness_file import write_json

Labels = Mapping[str, str]


class Key(NamedTuple):
    """Of a sample: its name, and its labels sorted."""

    name: str
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, name: str, labels: Labels) -> 'Key':
        """The key of a sample."""
        return cls(name, tuple(sorted(labels.items())))


class Exemplars:
    """The last exemplar of each sample of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[Key, Exemplar] = {}
        self._is_written = True

    def put(self, key: Key, exemplar: Exemplar) -> None:
        """Keep it, in place of the one before."""
        with self._lock:
            self._last[key] = exemplar
            self._is_written = False

    def write(self, folder: str, number: int) -> None:
        """Write them down for `read`, if there are new ones.

        :param number: of the process.
        :raises OSError: the file cannot be written.
        """
        with self._lock:
            if self._is_written:
                return
            self._is_written = True
            rows = [[*key, one.labels, one.value, one.timestamp] for key, one in self._last.items()]
        write_json(os.path.join(folder, f'exemplars_{number}.json'), rows)


def read(folder: str) -> dict[Key, Exemplar]:
    """The last exemplar of each sample, whichever process had it."""
    rows = sorted(_rows(folder), key=lambda row: row[-1])
    return {
        Key(name, tuple((label, of) for label, of in labels)): Exemplar(told, value, timestamp)
        for name, labels, told, value, timestamp in rows
    }


def _rows(folder: str) -> Iterator[Any]:
    """What all processes have written, each row ending with the time."""
    for path in glob.glob(os.path.join(glob.escape(folder), 'exemplars_*.json')):
        with open(path, encoding='utf-8') as file:
            yield from json.load(file)


def attach(metric: Metric, exemplars: Mapping[Key, Exemplar]) -> None:
    """Give a metric's samples their exemplars."""
    metric.samples = [_with_exemplar(sample, exemplars) for sample in metric.samples]


def _with_exemplar(sample: Sample, exemplars: Mapping[Key, Exemplar]) -> Sample:
    exemplar = exemplars.get(Key.of(sample.name, sample.labels))
    return sample if exemplar is None else sample._replace(exemplar=exemplar)
