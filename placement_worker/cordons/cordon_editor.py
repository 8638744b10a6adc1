"""Change the cordon file without a moment at which a worker could read half of it."""

import contextlib
import fcntl
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence

import msgspec
import yaml

from placement_worker.cordons import cordon_file
from placement_worker.formats.documents import Source
from placement_worker.planning.cordon import Cordon

MODE = 0o644
"""The mode of a new file, which the user of the worker has to read."""
Change = Callable[[list[Cordon]], Sequence[Cordon]]


def edit(path: str, change: Change) -> bool:
    """Replace the cordons of a file; a missing file has none.

    The new file is complete and on disk before it takes the name, the mode and the owner of the old
    one. A lock on the folder lets several editors wait for each other. A symbolic link stays.

    :param change: returns the new cordons; an error that it raises changes nothing.
    :returns: whether comments were lost: only those before the first cordon are kept.
    :raises InvalidCordonFile: the file is invalid, or would be too large.
    :raises OSError: the file cannot be read or replaced.
    """
    target = os.path.realpath(path)
    with _locked(os.path.dirname(target)) as folder:
        old = _read(target)
        before = cordon_file.parse(old) if old else []
        after = list(change(before))
        if old and after == before:
            return False
        head, body = _parted(old.text if old else '')
        new = Source(path, head + _encoded(after, target))
        cordon_file.parse(new)
        _replace(target, new.text)
        os.fsync(folder)
        return any(line.lstrip().startswith('#') for line in body)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[int]:
    """Lock a folder, and provide its descriptor; the kernel unlocks it if the process dies."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(path: str) -> Source | None:
    try:
        return cordon_file.source_of(path)
    except FileNotFoundError:
        return None


def _parted(text: str) -> tuple[str, list[str]]:
    """Return the comments at the start of a text, and its other lines."""
    lines = text.splitlines(keepends=True)
    head = list(itertools.takewhile(lambda line: not line.strip() or line.startswith('#'), lines))
    return ''.join(head), lines[len(head) :]


def _encoded(cordons: Sequence[Cordon], path: str) -> str:
    """Return cordons as JSON if the name of the file says so, else as YAML."""
    if path.endswith('.json'):
        return msgspec.json.format(msgspec.json.encode(cordons)).decode() + '\n'
    plain = msgspec.to_builtins(cordons)
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))


def _replace(path: str, text: str) -> None:
    """Write a new file, and rename it over the old one.

    :raises OSError: the folder cannot be written, or the owner cannot be kept.
    """
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
    """Give a new file the owner and the mode of the old one, if there is one."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        os.fchmod(descriptor, MODE)
        return
    new = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError as exc:
            text = 'it belongs to another user or group; run this command as its owner or as root'
            raise PermissionError(exc.errno, text, path) from exc
    os.fchmod(descriptor, old.st_mode & 0o7777)  # after fchown, which clears bits
