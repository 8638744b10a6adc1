"""The file that the parent of the worker's processes writes for probes."""

import contextlib
import json
import logging
import os
from collections.abc import Mapping
from typing import Any

LOG = logging.getLogger(__name__)


class LivenessFile:
    """The file that `[worker] liveness_file` names; without a path nothing is written."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._was_written = True

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the content; the first of several failures in a row is logged."""
        if not self._path:
            return
        try:
            write_json(self._path, state)
        except OSError as exc:
            if self._was_written:
                LOG.error('Cannot write [worker] liveness_file: %s', exc)
            self._was_written = False
        else:
            self._was_written = True

    def remove(self) -> None:
        """Delete the file, so that it does not report a worker that has ended as alive."""
        if self._path:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


def write_json(path: str, content: Any) -> None:
    """Write JSON to a file in one step: a reader finds the old content or the new one.

    :raises OSError: the file cannot be written.
    """
    new_path = f'{path}.new'
    with open(new_path, 'w', encoding='utf-8') as file:
        json.dump(content, file)
        file.write('\n')
    os.replace(new_path, path)
