"""The cordon file, a list in YAML or JSON, which workers read while an operator changes it.

::

- zone: az1
  until: '2026-12-01T06:00:00Z'
  reason: new switches
- region: RegionTwo
  until: '2026-12-24T18:00:00+01:00'
  evacuate: true                     # its nodes are deleted first

An edit is complete and on disk before it takes the name of the file. Otherwise a worker could read
half of it, or none after a power failure.
"""

import contextlib
import fcntl
import itertools
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence

import msgspec
import yaml

from placement_worker.contract import codec
from placement_worker.errors import InvalidRequest, PlacementWorkerError, file_error
from placement_worker.formats import documents
from placement_worker.formats.documents import DocumentError, Malformed, Source
from placement_worker.planning.places import Cordon

MAX_BYTES = 256 * 1024
_MAX_CORDONS = 1000
_NO_CORDONS = 'write [] for no cordons'
# The worker, which runs as another user, has to read a new file.
_MODE = 0o644

Edit = Callable[[list[Cordon]], Sequence[Cordon]]


class InvalidCordonFile(PlacementWorkerError):
    """The cordon file cannot be read; the text names the file, the position and the cause."""


def read(path: str) -> list[Cordon]:
    """Return the cordons of a file, including those that have ended.

    :raises InvalidCordonFile: the file cannot be read, or its content is not valid.
    """
    try:
        source = _source(path)
    except OSError as exc:
        remedy = f'; create it, and {_NO_CORDONS}' if isinstance(exc, FileNotFoundError) else ''
        raise InvalidCordonFile(f'Cannot read the cordon file: {file_error(exc)}{remedy}') from exc
    return parse(source)


def parse(source: Source) -> list[Cordon]:
    """Return the cordons that a text describes; errors are those of `read`."""
    try:
        return _cordons(source)
    except DocumentError as exc:
        raise _invalid(str(exc) if source.name in str(exc) else f'{source.name}: {exc}') from exc


def edit(path: str, change: Edit) -> bool:
    """Replace the cordons of a file; a missing file has none.

    The new file keeps the mode and the owner of the old one, and a symbolic link stays. A lock on
    the folder lets several editors wait for each other.

    :param change: returns the new cordons; an error that it raises changes nothing.
    :returns: whether comments were lost: only those before the first cordon are kept.
    :raises InvalidCordonFile: the file is invalid, or would be too large.
    :raises OSError: the file cannot be read or replaced.
    """
    target = os.path.realpath(path)
    with _locked(os.path.dirname(target)) as folder:
        try:
            text = _source(target).text
        except FileNotFoundError:
            text = None
        before = [] if text is None else parse(Source(target, text))
        after = list(change(before))
        if text is not None and after == before:
            return False
        head, body = _parted(text or '')
        new = Source(path, head + _encoded(after, target))
        parse(new)
        _replace(target, new.text)
        os.fsync(folder)
        return any(line.lstrip().startswith('#') for line in body)


def _source(path: str) -> Source:
    with open(path, 'rb', opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _invalid(f'{path} is not a regular file; name a file')
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _invalid(f'{path} is larger than {MAX_BYTES} bytes; remove cordons that have ended')
    try:
        return Source(path, content.decode())
    except UnicodeDecodeError as exc:
        raise _invalid(f'{path} is not UTF-8 text: {exc}') from exc


def _invalid(text: str) -> InvalidCordonFile:
    return InvalidCordonFile(f'Invalid cordon file: {text}')


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe without a writer would block forever


def _cordons(source: Source) -> list[Cordon]:
    if len(source.text.encode()) > MAX_BYTES:
        number = f'{source.name} would be larger than {MAX_BYTES} bytes'
        raise Malformed(f'{number}; remove cordons that have ended')
    if not source.text.strip():
        raise Malformed(f'{source.name} is empty; {_NO_CORDONS}')
    contents = documents.parse(source)
    if len(contents) > 1:
        raise Malformed(f'{source.name} contains {len(contents)} documents, expected one')
    (document,) = contents
    if isinstance(document.data, list) and len(document.data) > _MAX_CORDONS:
        number = f'{len(document.data)} cordons, expected at most {_MAX_CORDONS}'
        raise Malformed(f'{source.name} contains {number}; remove those that have ended')
    try:
        return codec.decode(document.data, list[Cordon])
    except InvalidRequest:
        raise document.invalid(codec.errors_in(document.data, list[Cordon])) from None


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[int]:
    """Lock a folder, and provide its descriptor; the kernel unlocks it if the process dies."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _parted(text: str) -> tuple[str, list[str]]:
    lines = text.splitlines(keepends=True)
    head = list(itertools.takewhile(lambda line: not line.strip() or line.startswith('#'), lines))
    return ''.join(head), lines[len(head) :]


def _encoded(cordons: Sequence[Cordon], path: str) -> str:
    if path.endswith('.json'):
        return msgspec.json.format(msgspec.json.encode(cordons)).decode() + '\n'
    plain = msgspec.to_builtins(cordons)
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))


def _replace(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    try:
        descriptor, new = tempfile.mkstemp(dir=folder, prefix='.cordons-')
    except PermissionError as exc:
        raise PermissionError(exc.errno, exc.strerror, folder) from exc
    try:
        with open(descriptor, 'w', encoding='utf-8') as file:
            _take_over(path, descriptor)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def _take_over(path: str, descriptor: int) -> None:
    try:
        old = os.stat(path)
    except FileNotFoundError:
        os.fchmod(descriptor, _MODE)
        return
    new = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError as exc:
            text = 'it belongs to another user or group; run this command as its owner or as root'
            raise PermissionError(exc.errno, text, path) from exc
    os.fchmod(descriptor, old.st_mode & 0o7777)  # after fchown, which clears bits
