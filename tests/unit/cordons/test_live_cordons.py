"""Cordons of a file that changes, becomes invalid or vanishes while a process runs."""

import logging
import os
import subprocess
import sys

import pytest

from placement_worker.cordons import cordon_file
from placement_worker.cordons.live_cordons import LiveCordons, _SharedCordons
from placement_worker.planning.places import Cordon
from tests.factories import NOW

CLOSED = '- {zone: b, until: "2999-01-01T00:00:00Z"}'
# Only a child of this process reads a file before it is damaged.
WITH_A_CHILD = """
import os, sys
from pathlib import Path
from placement_worker.cordons.live_cordons import LiveCordons

path, valid = sys.argv[1:]
live = LiveCordons(path, is_shared=True)
Path(path).write_text(valid)
child = os.fork()
if not child:
    live.all
    os._exit(0)
os.waitpid(child, 0)
Path(path).write_text('- zone: d')
print([cordon.zone for cordon in live.all], live.is_valid)
"""
# A process that replaces the cordons of its parent; forking is not safe in the process of a test.
KILLED = """
import os, signal
from placement_worker.cordons.live_cordons import _SharedCordons
from tests.factories import NOW
from placement_worker.planning.places import Cordon

shared = _SharedCordons([Cordon(zone='first', until=NOW), Cordon(zone='second', until=NOW)])
child = os.fork()
if not child:
    shared.replace([Cordon(zone='later', until=NOW)], {condition})
    os._exit(0)
print(os.waitpid(child, 0)[1], *(cordon.zone for cordon in shared.read()))
"""


class File:
    """A cordon file that is replaced as an operator does, by renaming a new one."""

    def __init__(self, path):
        self.path = path

    def write(self, text):
        new = self.path.with_suffix('.new')
        new.write_text(text)
        new.replace(self.path)

    def close(self, *zones):
        listed = [f'- {{zone: {zone}, until: "2026-01-01T13:00:00Z"}}\n' for zone in zones]
        self.write(''.join(listed) or '[]')


@pytest.fixture
def file(tmp_path):
    file = File(tmp_path / 'cordons.yaml')
    file.close('a')
    return file


def zones(live, now=NOW):
    return [cordon.zone for cordon in live.in_force(now)]


def printed(program, *arguments):
    command = [sys.executable, '-c', program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_in_force_after_a_change_returns_the_new_cordons(file, caplog):
    """A change needs no signal and no restart, and the log has it once."""
    caplog.set_level(logging.INFO)
    live = LiveCordons(str(file.path))
    assert zones(live) == ['a']

    file.close('b', 'c')

    assert [zones(live) for _ in range(3)] == [['b', 'c']] * 3
    assert caplog.messages == [f'Read 2 cordons from {file.path}']


def test_in_force_after_the_folder_of_a_config_map_changes_returns_the_new_cordons(tmp_path):
    """Kubernetes replaces the link to the folder of the file; the file itself stays a link."""
    for version in 'ab':
        (tmp_path / version).mkdir()
        File(tmp_path / version / 'cordons.yaml').close(version)
    (tmp_path / '..data').symlink_to('a')
    (tmp_path / 'cordons.yaml').symlink_to('..data/cordons.yaml')
    live = LiveCordons(str(tmp_path / 'cordons.yaml'))
    assert zones(live) == ['a']

    (tmp_path / '..data_tmp').symlink_to('b')
    (tmp_path / '..data_tmp').replace(tmp_path / '..data')

    assert zones(live) == ['b']


def test_in_force_without_a_change_reads_the_file_once(file, monkeypatch):
    """A request costs one `stat`, whatever the size of the file is."""
    live = LiveCordons(str(file.path))
    monkeypatch.setattr(cordon_file, 'read', lambda _: pytest.fail('read again'))
    calls = []
    stat = os.stat
    monkeypatch.setattr(
        os, 'stat', lambda *given, **more: calls.append(given) or stat(*given, **more)
    )

    assert zones(live) == ['a']
    assert len(calls) == 1


@pytest.mark.parametrize(
    ('damage', 'cause'),
    [
        (lambda file: file.write('- {zone: b}'), 'field `until` - at `$[0]` (line 1, column 3)'),
        (lambda file: file.write(''), 'is empty'),
        (lambda file: file.path.unlink(), 'No such file or directory'),
        (lambda file: (file.path.unlink(), file.path.mkdir()), 'cordons.yaml: Is a directory'),
    ],
    ids=['invalid', 'empty', 'missing', 'a folder'],
)
def test_in_force_with_a_damaged_file_keeps_the_last_valid_cordons(file, damage, cause, caplog):
    """The last valid state stays in force, with one warning that has the cause."""
    live = LiveCordons(str(file.path))

    damage(file)

    assert [zones(live) for _ in range(3)] == [['a']] * 3
    assert not live.is_valid
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith('Kept 1 cordon of the last valid cordon file: ')
    assert cause in record.getMessage()


@pytest.mark.parametrize(('valid', 'kept'), [(CLOSED, "['b'] False"), ('[]', '[] False')])
def test_in_force_with_a_damaged_file_keeps_what_another_process_read(file, valid, kept):
    """All processes of a worker decide alike, also one that starts while the file is damaged."""
    assert printed(WITH_A_CHILD, file.path, valid) == kept


def test_in_force_with_a_damaged_file_and_damaged_shared_cordons_keeps_its_own(file):
    """A process that was killed while it shared the cordons takes them from no other."""
    live = LiveCordons(str(file.path), is_shared=True)
    os.pwrite(live._last_valid._descriptor, b'x', 0)

    file.write('- zone: d\n')

    assert zones(live) == ['a']


def test_in_force_after_a_repair_returns_the_new_cordons(file):
    """A file that was invalid is used again as soon as it is valid."""
    live = LiveCordons(str(file.path))
    file.write('nonsense')
    assert zones(live) == ['a']

    file.close()

    assert zones(live) == []
    assert live.is_valid


@pytest.mark.parametrize(
    ('condition', 'read'),
    [
        ('lambda: True', '0 later'),
        ('lambda: os.kill(os.getpid(), signal.SIGKILL)', '9 first second'),
    ],
    ids=['replaced', 'killed'],
)
def test_cordons_of_a_forked_process_are_read_in_its_parent(condition, read):
    """A parent reads what its child wrote, and a child that is killed does not keep the lock."""
    assert printed(KILLED.format(condition=condition)) == read


def test_replace_with_outdated_cordons_changes_nothing():
    """A process that read the source too early does not overwrite later cordons."""
    late = Cordon(zone='late', until=NOW)
    shared = _SharedCordons([late])

    shared.replace([], lambda: False)

    assert shared.read() == (late,)
