"""Changes of the cordon file: complete or none, one after the other, with mode and owner."""

import datetime
import os
import threading

import pytest

from placement_worker.cordons import cordon_editor, cordon_file
from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.planning.cordon import Cordon
from tests.factories import NOW
from tests.waiting import DEADLINE_S


@pytest.fixture
def path(tmp_path):
    """The path of a cordon file that does not exist yet."""
    return str(tmp_path / 'cordons.yaml')


def add(*zones, **more):
    """Return a change that appends cordons."""
    return lambda cordons: [*cordons, *(Cordon(zone=zone, until=NOW, **more) for zone in zones)]


def zones(path):
    return [one.zone for one in cordon_file.read(path)]


def test_edit_of_a_missing_file_creates_it_readable_for_the_worker(path):
    """The first cordon needs no preparation, and the worker runs as another user."""
    cordon_editor.edit(path, add('a'))

    assert zones(path) == ['a']
    assert os.stat(path).st_mode & 0o777 == 0o644


@pytest.mark.parametrize('name', ['cordons.yaml', 'cordons.json'])
def test_edit_keeps_every_field_and_the_format(tmp_path, name):
    """A cordon is read as it was written, in YAML or JSON by the name of the file."""
    path = str(tmp_path / name)
    zone = datetime.timezone(datetime.timedelta(hours=1))
    written = Cordon(
        zone='ä: #1',
        region='R1',
        until=datetime.datetime(2026, 1, 1, tzinfo=zone),
        reason='- [x]\n"\x1b',
        evacuate=True,
    )

    cordon_editor.edit(path, lambda _: [written])

    assert cordon_file.read(path) == [written]
    with open(path, encoding='utf-8') as file:
        assert (file.read(1) == '[') is name.endswith('.json')


def test_edit_keeps_mode_owner_and_symbolic_link(tmp_path):
    """A file that configuration management owns stays as it is, except for its content."""
    real, link = tmp_path / 'real.yaml', tmp_path / 'cordons.yaml'
    real.write_text('[]')
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 1234, 4321)
    link.symlink_to(real)
    before = real.stat()

    cordon_editor.edit(str(link), add('a'))

    after = real.stat()
    assert link.is_symlink()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert zones(str(link)) == ['a']


def test_edit_of_a_file_whose_owner_cannot_be_kept_is_refused(path, tmp_path, monkeypatch):
    """A worker must not lose its access to the file."""
    cordon_editor.edit(path, add('a'))
    monkeypatch.setattr(
        os,
        'fstat',
        lambda fd, stat=os.fstat: os.stat_result((*stat(fd)[:4], 77, 77, *stat(fd)[6:])),
    )

    def refused(*_):
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr(os, 'fchown', refused)

    with pytest.raises(PermissionError, match='run this command as its owner or as root'):
        cordon_editor.edit(path, add('b'))

    assert zones(path) == ['a']
    assert os.listdir(tmp_path) == ['cordons.yaml']


@pytest.mark.parametrize(
    ('text', 'is_lost'),
    [
        ('# cordons of hall 2\n\n- {zone: a, until: "2026-01-01T12:00:00Z"}\n', False),
        ('# head\n- {zone: a, until: "2026-01-01T12:00:00Z"}\n  # why\n', True),
    ],
)
def test_edit_keeps_comments_before_the_first_cordon(path, text, is_lost):
    """The head of the file stays, and the loss of other comments is reported."""
    with open(path, 'w') as file:
        file.write(text)

    assert cordon_editor.edit(path, add('b')) is is_lost

    with open(path, encoding='utf-8') as file:
        written = file.read()
    assert written.startswith(text.partition('-')[0])
    assert written.count('#') == 1
    assert zones(path) == ['a', 'b']


def test_edit_without_a_change_leaves_the_file_as_it_is(path):
    """Workers do not read the file again, and its comments stay."""
    with open(path, 'w') as file:
        file.write('# head\n[] # none\n')
    before = os.stat(path).st_ino

    assert cordon_editor.edit(path, list) is False
    assert os.stat(path).st_ino == before


@pytest.mark.parametrize(
    ('text', 'change', 'error'),
    [
        ('- {zone: a}\n', add('b'), 'missing required field `until`'),
        ('[]', lambda _: 1 / 0, 'division'),
        ('[]', add(*map(str, range(1001))), 'contains 1001 cordons'),
        ('[]', add(*('x' * 250 for _ in range(900)), reason='y' * 200), 'larger than 262144'),
    ],
    ids=['an invalid file', 'an error of the change', 'too many cordons', 'too many bytes'],
)
def test_edit_that_fails_changes_nothing(path, tmp_path, text, change, error):
    """An error leaves the old file, and no other file."""
    with open(path, 'w') as file:
        file.write(text)

    with pytest.raises((InvalidCordonFile, ZeroDivisionError), match=error):
        cordon_editor.edit(path, change)

    with open(path, encoding='utf-8') as file:
        assert file.read() == text
    assert os.listdir(tmp_path) == ['cordons.yaml']


def test_edit_in_a_folder_that_cannot_be_written_names_the_folder(path, tmp_path, monkeypatch):
    """The error names the folder, not a temporary file."""

    def refused(**_):
        raise PermissionError(13, 'Permission denied', '/x/.cordons-1')

    monkeypatch.setattr(cordon_editor.tempfile, 'mkstemp', refused)

    with pytest.raises(PermissionError) as raised:
        cordon_editor.edit(path, add('a'))

    assert raised.value.filename == str(tmp_path)


def test_edits_at_the_same_time_lose_no_cordon(path):
    """The second editor waits, and changes what the first one wrote."""
    entered, second_began = threading.Event(), threading.Event()

    def slowly(cordons):
        entered.set()
        assert second_began.wait(DEADLINE_S)
        return add('a')(cordons)

    def second():
        second_began.set()
        cordon_editor.edit(path, add('b'))

    first = threading.Thread(target=cordon_editor.edit, args=(path, slowly))
    first.start()
    assert entered.wait(DEADLINE_S)
    other = threading.Thread(target=second)
    other.start()
    first.join()
    other.join()

    assert zones(path) == ['a', 'b']
