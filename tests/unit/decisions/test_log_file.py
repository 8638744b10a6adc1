"""The file of the decision log."""

import os
import threading

import pytest

from placement_worker.decisions.log_file import LogFile


def test_append_from_processes_and_threads_keeps_lines_whole(tmp_path):
    """Concurrent appends do not interleave the bytes of lines."""
    path = tmp_path / 'log'
    files = [LogFile(str(path)) for _ in range(2)]  # one descriptor each, as in two processes
    lines = {f'{n}-'.encode() + b'x' * 20000 + b'\n' for n in range(200)}
    turns = [list(lines)[i::4] for i in range(4)]

    writers = [
        threading.Thread(target=lambda i=i: [files[i % 2].append(line) for line in turns[i]])
        for i in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert set(path.read_bytes().splitlines(keepends=True)) == lines


def test_append_after_a_rotation_creates_the_file_again(tmp_path):
    """A moved file is created again, readable by owner and group only."""
    path = tmp_path / 'log'
    before = os.umask(0o022)
    log = LogFile(str(path))
    os.umask(before)
    log.append(b'1\n')
    path.rename(tmp_path / 'log.1')
    log.append(b'2\n')
    path.rename(tmp_path / 'log.2')
    path.write_bytes(b'another process created it\n')
    log.append(b'3\n')

    assert path.read_bytes() == b'another process created it\n3\n'
    assert [(tmp_path / f'log.{n}').read_bytes() for n in (1, 2)] == [b'1\n', b'2\n']
    assert (tmp_path / 'log.1').stat().st_mode & 0o777 == 0o640


def test_append_to_a_deleted_folder_is_logged_once(tmp_path, caplog):
    """A deleted folder is logged once, and no append raises."""
    folder = tmp_path / 'folder'
    folder.mkdir()
    log = LogFile(str(folder / 'log'))
    (folder / 'log').unlink()
    folder.rmdir()

    log.append(b'1\n')
    log.append(b'2\n')
    folder.mkdir()
    log.append(b'3\n')

    assert (folder / 'log').read_bytes() == b'3\n'
    assert [record.getMessage() for record in caplog.records] == [
        f'Failed to write the decision log: {folder / "log"}: No such file or directory',
        f'The decision log can be written again: {folder / "log"}',
    ]


def test_append_to_a_full_disk_is_logged(caplog):
    """A full disk is logged, and the append does not raise."""
    log = LogFile('/dev/full')

    log.append(b'1\n')

    assert 'Failed to write the decision log: ' in caplog.text


def test_log_file_that_cannot_be_created_raises(tmp_path):
    """A log file that cannot be created raises when it is opened."""
    with pytest.raises(OSError, match='No such file'):
        LogFile(str(tmp_path / 'none' / 'log'))
