"""The cordon file, a list in YAML or JSON.

::

- zone: az1
  until: '2026-12-01T06:00:00Z'
  reason: new switches
- region: RegionTwo
  until: '2026-12-24T18:00:00+01:00'
  evacuate: true                     # its nodes are deleted first
"""

import os
import stat

from placement_worker.contract import codec, schema_errors
from placement_worker.errors import InvalidRequest, PlacementWorkerError, file_error
from placement_worker.formats import documents
from placement_worker.formats.documents import DocumentError, Malformed, Source
from placement_worker.planning.cordon import Cordon

MAX_BYTES = 256 * 1024
MAX_CORDONS = 1000
NO_CORDONS = 'write [] for no cordons'


class InvalidCordonFile(PlacementWorkerError):
    """The cordon file cannot be read; the text names the file, the position and the cause."""


def read(path: str) -> list[Cordon]:
    """Return the cordons of a file, including those that have ended.

    :raises InvalidCordonFile: the file cannot be read, or its content is not valid.
    """
    return parse(readable(path))


def readable(path: str) -> Source:
    """Return the text of a file.

    :raises InvalidCordonFile: the file cannot be read, is too large, or is not text.
    """
    try:
        return source_of(path)
    except OSError as exc:
        remedy = f'; create it, and {NO_CORDONS}' if isinstance(exc, FileNotFoundError) else ''
        raise InvalidCordonFile(f'Cannot read the cordon file: {file_error(exc)}{remedy}') from exc


def source_of(path: str) -> Source:
    """Return the text of a file.

    :raises OSError: the file cannot be read.
    :raises InvalidCordonFile: it is no regular file, too large, or not text.
    """
    try:
        return Source(path, _text(path))
    except Malformed as exc:
        raise InvalidCordonFile(f'Invalid cordon file: {exc}') from exc


def parse(source: Source) -> list[Cordon]:
    """Return the cordons of a text.

    :raises InvalidCordonFile: the text does not describe cordons.
    """
    try:
        return _cordons(source)
    except DocumentError as exc:
        text = str(exc) if source.name in str(exc) else f'{source.name}: {exc}'
        raise InvalidCordonFile(f'Invalid cordon file: {text}') from exc


def _text(path: str) -> str:
    """Return the text of a regular file of limited size.

    :raises OSError: the file cannot be read.
    :raises Malformed: it is no regular file, too large, or not text.
    """
    with open(path, 'rb', opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Malformed(f'{path} is not a regular file; name a file')
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Malformed(f'{path} is larger than {MAX_BYTES} bytes; remove cordons that have ended')
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        raise Malformed(f'{path} is not UTF-8 text: {exc}') from exc


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer would otherwise block forever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _cordons(source: Source) -> list[Cordon]:
    """Return the cordons of a text.

    :raises DocumentError: the text does not describe cordons.
    """
    if len(source.text.encode()) > MAX_BYTES:
        number = f'{source.name} would be larger than {MAX_BYTES} bytes'
        raise Malformed(f'{number}; remove cordons that have ended')
    if not source.text.strip():
        raise Malformed(f'{source.name} is empty; {NO_CORDONS}')
    found = documents.parse(source)
    if len(found) > 1:
        raise Malformed(f'{source.name} contains {len(found)} documents, expected one')
    (document,) = found
    if isinstance(document.data, list) and len(document.data) > MAX_CORDONS:
        number = f'{len(document.data)} cordons, expected at most {MAX_CORDONS}'
        raise Malformed(f'{source.name} contains {number}; remove those that have ended')
    try:
        return codec.decode(document.data, list[Cordon])
    except InvalidRequest:
        raise document.invalid(schema_errors.found(document.data, list[Cordon])) from None
