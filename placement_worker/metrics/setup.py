"""Start the export of metrics.

prometheus_client is imported only if an operator enables metrics, and only after its folder is
chosen: it reads `PROMETHEUS_MULTIPROC_DIR` when it is imported.
"""

import glob
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from placement_worker.errors import ConfigurationError, file_error

if TYPE_CHECKING:
    from placement_worker.metrics.prometheus import Cordons, Exporter


def export(
    port: int | None, address: str, folder: str | None, cordons: 'Cordons | None'
) -> 'Exporter | None':
    """Serve the metrics of the processes that will be forked.

    :param folder: the folder for the files of the processes; it is created if it is missing, and
        the files of an earlier worker are deleted. None for a temporary folder.
    :raises ConfigurationError: the folder, or address and port, cannot be used.
    """
    if port is None:
        return None
    chosen = tempfile.mkdtemp(prefix='placement-worker-metrics-') if folder is None else folder
    if folder is not None:
        _empty(folder)
    os.environ['PROMETHEUS_MULTIPROC_DIR'] = chosen
    from placement_worker.metrics.prometheus import Exporter  # noqa: PLC0415  # see above

    def remove() -> None:
        if folder is None:
            shutil.rmtree(chosen, ignore_errors=True)

    try:
        return Exporter(port, address, chosen, remove, cordons)
    except BaseException:
        remove()
        raise


def _empty(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        for path in glob.glob(os.path.join(glob.escape(folder), '*.db')):
            os.unlink(path)
    except OSError as exc:
        raise ConfigurationError(
            f'Cannot use [metrics] folder: {file_error(exc)}; let the user of the worker write to '
            'it, or to its parent folder'
        ) from exc
