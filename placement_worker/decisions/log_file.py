"""A file that several processes append lines to, and that logrotate may move away meanwhile."""

import logging
import os
import threading

from placement_worker import errors

LOG = logging.getLogger(__name__)
MODE = 0o640


class LogFile:
    """Lines at the end of a file: one write each, so that those of other processes and threads stay
    whole.

    That holds on local file systems, not on NFS. Nothing is synchronised: what the machine had not
    yet written when it lost power is lost.
    """

    def __init__(self, path: str) -> None:
        """Open it, or make it.

        :raises OSError: that cannot be done.
        """
        self._path = path
        self._lock = threading.Lock()
        self._failing = False
        self._descriptor = self._open()

    def append(self, line: bytes) -> None:
        """Write a line; that it cannot be written is told once in the log, and stops nobody."""
        with self._lock:
            try:
                if self._moved():
                    descriptor = self._open()
                    os.close(self._descriptor)
                    self._descriptor = descriptor
                self._write(line)
            except OSError as exc:
                if not self._failing:
                    LOG.error('Decisions cannot be logged: %s', errors.file_error(exc))
                self._failing = True
            else:
                if self._failing:
                    LOG.warning('Decisions are logged again: %s', self._path)
                self._failing = False

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)

    def _moved(self) -> bool:
        """Whether another file, or none, stands under the name."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _write(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written < len(line):
            os.write(self._descriptor, b'\n')  # the next line is not to stand behind the torn one
            raise OSError(
                f'{self._path}: only {written} of {len(line)} bytes of a line were written'
            )
