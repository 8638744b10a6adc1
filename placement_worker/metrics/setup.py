"""Metrics for Prometheus: what is counted (`counting`), and how several processes show it on one
port (`sharing`).

prometheus_client is imported only where metrics are asked for, and after its folder was chosen: it
looks at the environment when it is imported.
"""

import glob
import os
import shutil
import tempfile
from typing import Protocol

from placement_worker.events.listener import Nobody, Observer

OURS = ('*.db', 'exemplars_*.json*')
"""What prometheus_client and we write into the folder."""


class Sharing(Protocol):
    """The metrics of a worker; made by the parent, before it forks."""

    def begin(self, number: int) -> Observer:
        """A process starts, maybe in the place of one that died; in that process.

        :param number: from 0, its own among the processes that run.
        """

    def forget(self, number: int) -> None:
        """A process has died: it has no request in work any more. What it counted stays."""

    def close(self) -> None:
        """The worker has ended."""


class Off:
    """As `Sharing`; there are none."""

    def begin(self, number: int) -> Observer:
        """As `Sharing.begin`."""
        return Nobody()

    def forget(self, number: int) -> None:
        """As `Sharing.forget`."""

    def close(self) -> None:
        """As `Sharing.close`."""


def share(port: int | None, address: str, folder: str | None) -> Sharing:
    """Serve the metrics of the processes that will be forked.

    :param port: None for no metrics.
    :param folder: where the processes write; it is made if it is not there, and emptied of what an
        earlier worker wrote. None for a temporary one.
    :raises OSError: the folder cannot be used.
    :raises ConfigurationError: the port cannot.
    """
    if port is None:
        return Off()
    chosen = tempfile.mkdtemp(prefix='placement-worker-metrics-') if folder is None else folder
    if folder is not None:
        _empty(folder)
    os.environ['PROMETHEUS_MULTIPROC_DIR'] = chosen
    from placement_worker.metrics.multiprocess import Port  # noqa: PLC0415 - imports prometheus_client

    def remove() -> None:
        if folder is None:
            shutil.rmtree(chosen, ignore_errors=True)

    try:
        return Port(port, address, chosen, on_close=remove)
    except BaseException:
        remove()
        raise


def _empty(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    for pattern in OURS:
        for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
            os.unlink(path)
