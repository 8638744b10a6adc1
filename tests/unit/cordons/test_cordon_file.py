"""The cordon file: read, valid and hostile, and edited completely or not at all."""

import datetime
import os
import threading

import pytest

from placement_worker.cordons import cordon_file
from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.planning.places import Cordon
from tests.factories import NOW
from tests.waiting import DEADLINE_S

GOOD = '- {zone: az1, until: "2026-01-01T12:00:00Z"}\n'


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'cordons.yaml'


def error_of(path):
    """Return the error about a file, with the file's path shortened."""
    with pytest.raises(InvalidCordonFile) as raised:
        cordon_file.read(str(path))
    return str(raised.value).replace(str(path), 'FILE')


def add(*zones, **more):
    return lambda cordons: [*cordons, *(Cordon(zone=zone, until=NOW, **more) for zone in zones)]


def zones(path):
    return [cordon.zone for cordon in cordon_file.read(str(path))]


@pytest.mark.parametrize(
    'text',
    [
        """
        # all zones of a hall
        - zone: az1
          region: R1
          until: 2026-01-01T13:00:00+01:00
          reason: new switches
          evacuate: true
        """,
        '[{"zone": "az1", "region": "R1", "until": "2026-01-01T12:00:00Z", '
        '"reason": "new switches", "evacuate": true}]',
    ],
    ids=['YAML', 'JSON'],
)
def test_read_file_returns_its_cordons(path, text):
    """YAML and JSON describe cordons alike; an unquoted time is a time."""
    path.write_text(text)

    assert cordon_file.read(str(path)) == [
        Cordon(zone='az1', region='R1', until=NOW, reason='new switches', evacuate=True)
    ]


NO_TIME = 'FILE: Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`, got '


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        ('', 'FILE is empty; write [] for no cordons'),
        ('zone: az1\n', 'FILE: Expected `array`, got `object` - at `$` (line 1, column 1)'),
        (GOOD + '- {zone: az2}\n',
         'FILE: Object missing required field `until` - at `$[1]` (line 2, column 3)'),
        ('- zone: az1\n  until: 2026-01-01\n',
         NO_TIME + '`2026-01-01` - at `$[0].until` (line 2, column 10)'),
        ('- zone: az1\n  until: 2026-01-01T12:00:00\n', NO_TIME + '`2026-01-01T12:00:00`'),
        ('- {until: "2026-01-01T12:00:00Z"}\n',
         'FILE: Expected `zone`, `region` or both, got none - at `$[0]` (line 1, column 3)'),
        ('- {zone: 7, until: "2026-01-01T12:00:00Z"}\n',
         'FILE: Expected `str | null`, got `int` - at `$[0].zone` (line 1, column 10)'),
        ("- zone: az1\n  untill: '2026-12-01T06:00:00Z'\n", '`untill` (did you mean `until`?)'),
        ('- {zone: az1}\n- {zone: az2}\n', 'and 1 more error'),
        ('- zone: az1\n  zone: az2\n', "FILE:2:3 is neither YAML nor JSON: found the key 'zone'"),
        (GOOD + '---\n' + GOOD, 'FILE contains 2 documents, expected one'),
        ('- ' + 'x' * cordon_file.MAX_BYTES, 'FILE is larger than 262144 bytes; remove cordons'),
        (GOOD * 1001, 'FILE contains 1001 cordons, expected at most 1000'),
        (b'\xff\xfe', 'FILE is not UTF-8 text'),
    ],
)  # fmt: skip
def test_read_invalid_file_raises_an_error_with_its_position(path, text, error):
    """Each error names the file, what is wrong and where."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    assert error in error_of(path)


@pytest.mark.parametrize(
    ('make', 'error'),
    [
        (lambda _: None,
         'Cannot read the cordon file: FILE: No such file or directory; create it, and write [] '
         'for no cordons'),
        (os.mkdir, 'Cannot read the cordon file: FILE: Is a directory'),
        (os.mkfifo, 'Invalid cordon file: FILE is not a regular file; name a file'),
    ],
    ids=['missing', 'folder', 'pipe without a writer'],
)  # fmt: skip
def test_read_of_what_is_no_file_names_it_and_the_cause(path, make, error):
    """An operator can tell a wrong path from wrong content, and a pipe blocks nothing."""
    make(path)

    assert error_of(path) == error


def test_read_error_escapes_what_the_file_contains(path):
    """Control characters of the file do not reach a terminal or a log."""
    path.write_text('- {zone: az1, until: "\\x1b[2J"}\n')

    assert '\x1b' not in error_of(path)


def test_edit_of_a_missing_file_creates_it_readable_for_the_worker(path):
    """The first cordon needs no preparation, and the worker runs as another user."""
    cordon_file.edit(str(path), add('a'))

    assert zones(path) == ['a']
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize('name', ['cordons.yaml', 'cordons.json'])
def test_edit_keeps_every_field_and_the_format(tmp_path, name):
    """A cordon is read as it was written, in YAML or JSON by the name of the file."""
    path = tmp_path / name
    zone = datetime.timezone(datetime.timedelta(hours=1))
    written = Cordon(
        zone='ä: #1',
        region='R1',
        until=datetime.datetime(2026, 1, 1, tzinfo=zone),
        reason='- [x]\n"\x1b',
        evacuate=True,
    )

    cordon_file.edit(str(path), lambda _: [written])

    assert cordon_file.read(str(path)) == [written]
    assert path.read_text(encoding='utf-8').startswith('[') is name.endswith('.json')


def test_edit_keeps_mode_owner_and_symbolic_link(tmp_path, path):
    """A file that configuration management owns stays as it is, except for its content."""
    real = tmp_path / 'real.yaml'
    real.write_text('[]')
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 1234, 4321)
    path.symlink_to(real)

    def kept():
        status = real.stat()
        return path.is_symlink(), status.st_mode, status.st_uid, status.st_gid

    before = kept()
    cordon_file.edit(str(path), add('a'))

    assert kept() == before
    assert zones(path) == ['a']


def test_edit_of_a_file_whose_owner_cannot_be_kept_is_refused(path, tmp_path, monkeypatch):
    """A worker must not lose its access to the file."""
    cordon_file.edit(str(path), add('a'))
    monkeypatch.setattr(
        os,
        'fstat',
        lambda fd, stat=os.fstat: os.stat_result((*stat(fd)[:4], 77, 77, *stat(fd)[6:])),
    )

    def refused(*_):
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr(os, 'fchown', refused)

    with pytest.raises(PermissionError, match='run this command as its owner or as root'):
        cordon_file.edit(str(path), add('b'))

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
    path.write_text(text)

    assert cordon_file.edit(str(path), add('b')) is is_lost

    written = path.read_text()
    assert written.startswith(text.partition('-')[0])
    assert written.count('#') == 1
    assert zones(path) == ['a', 'b']


def test_edit_without_a_change_leaves_the_file_as_it_is(path):
    """Workers do not read the file again, and its comments stay."""
    path.write_text('# head\n[] # none\n')
    before = path.stat().st_ino

    assert cordon_file.edit(str(path), list) is False
    assert path.stat().st_ino == before


def test_file_at_its_limits_is_read(path):
    """A file with as many cordons and bytes as are allowed is read."""
    most = GOOD * 1000
    path.write_text(most + '#' * (cordon_file.MAX_BYTES - len(most)))

    assert len(zones(path)) == 1000


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
    path.write_text(text)

    with pytest.raises((InvalidCordonFile, ZeroDivisionError), match=error):
        cordon_file.edit(str(path), change)

    assert path.read_text() == text
    assert os.listdir(tmp_path) == ['cordons.yaml']


def test_edit_in_a_folder_that_cannot_be_written_names_the_folder(path, tmp_path, monkeypatch):
    """The error names the folder, not a temporary file."""

    def refused(**_):
        raise PermissionError(13, 'Permission denied', '/x/.cordons-1')

    monkeypatch.setattr(cordon_file.tempfile, 'mkstemp', refused)

    with pytest.raises(PermissionError) as raised:
        cordon_file.edit(str(path), add('a'))

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
        cordon_file.edit(str(path), add('b'))

    threads = [
        threading.Thread(target=cordon_file.edit, args=(str(path), slowly)),
        threading.Thread(target=second),
    ]
    threads[0].start()
    assert entered.wait(DEADLINE_S)
    threads[1].start()
    for thread in threads:
        thread.join()

    assert zones(path) == ['a', 'b']
