"""The cordons of a file that may change while a process runs."""

import datetime
import logging
import os
from typing import NamedTuple

from placement_worker.cordons import cordon_file
from placement_worker.cordons.shared_text import SharedText
from placement_worker.errors import file_error
from placement_worker.formats.documents import Source
from placement_worker.formats.text import counted
from placement_worker.planning import cordon
from placement_worker.planning.cordon import Cordon

LOG = logging.getLogger(__name__)
Signature = tuple[int, ...] | str
"""The identity, size and times of a file, or why they cannot be read."""


class _Content(NamedTuple):
    """The cordons of the last valid content.

    `signature`: that of the last content, valid or not.
    """

    signature: Signature
    cordons: tuple[Cordon, ...]
    is_valid: bool


class LiveCordons:
    """The cordons of a file; each use costs one `stat`, and a change of the file one read.

    If the changed file is invalid or missing, its last valid content stays in force: the last that
    this process or, if the content is shared, another process has read. There is no lock of
    threads, which a forked process might inherit while it is held: two threads may read the file at
    once, and the thread that read older content is corrected by the next use.
    """

    def __init__(self, path: str, *, is_shared: bool = False) -> None:
        """Read the file.

        :param is_shared: whether processes that this one forks share the last valid content.
        :raises InvalidCordonFile: the file cannot be read, or its content is not valid.
        """
        self._path = path
        # The signature is older than the content: if the file changes in between, it is read again.
        signature = _signature(path)
        source = cordon_file.readable(path)
        self._content = _Content(signature, tuple(cordon_file.parse(source)), is_valid=True)
        self._last_valid = SharedText(source.text) if is_shared else None

    @property
    def all(self) -> tuple[Cordon, ...]:
        """All cordons of the file, including those that have ended."""
        return self._current().cordons

    @property
    def is_valid(self) -> bool:
        """Whether the present file is valid, and thus in force."""
        return self._current().is_valid

    def in_force(self, now: datetime.datetime) -> tuple[Cordon, ...]:
        """Return the cordons in force at a time."""
        return cordon.in_force(self._current().cordons, now)

    def _current(self) -> _Content:
        content, signature = self._content, _signature(self._path)
        if signature != content.signature:
            content = self._content = self._read(content, signature)
        return content

    def _read(self, before: _Content, signature: Signature) -> _Content:
        """Return the new content of the file, or the content before with the new signature."""
        try:
            source = cordon_file.readable(self._path)
            found = tuple(cordon_file.parse(source))
        except cordon_file.InvalidCordonFile as exc:
            shared = self._shared()
            kept = before.cordons if shared is None else shared
            number = counted(len(kept), 'cordon')
            LOG.warning('Kept %s of the last valid cordon file: %s', number, exc)
            return _Content(signature, kept, is_valid=False)
        if self._last_valid:
            self._last_valid.replace(source.text, lambda: _signature(self._path) == signature)
        LOG.info('Read %s from %s', counted(len(found), 'cordon'), self._path)
        return _Content(signature, found, is_valid=True)

    def _shared(self) -> tuple[Cordon, ...] | None:
        """Return the cordons that a process read last, or None if they are not shared."""
        text = self._last_valid and self._last_valid.read()
        return tuple(cordon_file.parse(Source(self._path, text))) if text else None


def _signature(path: str) -> Signature:
    try:
        found = os.stat(path)
    except OSError as exc:
        return file_error(exc)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
