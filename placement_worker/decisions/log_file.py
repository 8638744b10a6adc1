"""A log file that several processes append to, and that logrotate may move away."""

import logging
import os
import threading

from placement_worker import errors

LOG = logging.getLogger(__name__)
MODE = 0o640


class LogFile:
    """A file of lines, each of them appended in one write.

    The lines of several processes and threads stay whole on local file systems, but not on NFS.
    Writes are not synchronized, so a power failure may lose the last lines.
    """

    def __init__(self, path: str) -> None:
        """Open the file, or create it.

        :raises OSError: the file cannot be opened.
        """
        self._path = path
        self._lock = threading.Lock()
        self._is_failing = False
        self._descriptor = self._open()

    def append(self, line: bytes) -> None:
        """Append a line. The log reports the first of several failures; none is raised."""
        with self._lock:
            try:
                if self._was_moved():
                    descriptor = self._open()
                    os.close(self._descriptor)
                    self._descriptor = descriptor
                self._write(line)
            except OSError as exc:
                if not self._is_failing:
                    LOG.error('Failed to write the decision log: %s', errors.file_error(exc))
                self._is_failing = True
            else:
                if self._is_failing:
                    LOG.warning('The decision log can be written again: %s', self._path)
                self._is_failing = False

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)

    def _was_moved(self) -> bool:
        """Return whether the path names another file or none."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return True
        opened = os.fstat(self._descriptor)
        return (found.st_dev, found.st_ino) != (opened.st_dev, opened.st_ino)

    def _write(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written < len(line):
            os.write(self._descriptor, b'\n')  # the next line must not continue the partial one
            raise OSError(f'{self._path}: wrote only {written} of {len(line)} bytes of a line')
