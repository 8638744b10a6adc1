"""The cordon file, valid and hostile."""

import os

import pytest

from placement_worker.cordons import cordon_file
from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.planning.cordon import Cordon
from tests.factories import NOW

GOOD = '- {zone: az1, until: "2026-01-01T12:00:00Z"}\n'


@pytest.fixture
def path(tmp_path):
    """The path of a cordon file that does not exist yet."""
    return tmp_path / 'cordons.yaml'


def error_of(path):
    """Return the error about a file, with the file's path shortened."""
    with pytest.raises(InvalidCordonFile) as raised:
        cordon_file.read(str(path))
    return str(raised.value).replace(str(path), 'FILE')


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


def test_read_empty_list_returns_no_cordons(path):
    """A file without cordons is valid."""
    path.write_text('[]\n')

    assert cordon_file.read(str(path)) == []


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        ('', 'FILE is empty; write [] for no cordons'),
        ('# nothing\n', 'FILE is empty'),
        ('zone: az1\n', 'FILE: Expected `array`, got `object` - at `$` (line 1, column 1)'),
        (
            GOOD + '- {zone: az2}\n',
            'FILE: Object missing required field `until` - at `$[1]` (line 2, column 3)',
        ),
        (
            '- zone: az1\n  until: 2026-01-01\n',
            'FILE: Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`, got `2026-01-01` - '
            'at `$[0].until` (line 2, column 10)',
        ),
        (
            '- zone: az1\n  until: 2026-01-01T12:00:00\n',
            'FILE: Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`, got '
            '`2026-01-01T12:00:00` - at `$[0].until` (line 2, column 10)',
        ),
        (
            '- {until: "2026-01-01T12:00:00Z"}\n',
            'FILE: Expected `zone`, `region` or both, got none - at `$[0]` (line 1, column 3)',
        ),
        (
            '- {zone: 7, until: "2026-01-01T12:00:00Z"}\n',
            'FILE: Expected `str | null`, got `int` - at `$[0].zone` (line 1, column 10)',
        ),
        (
            '- {zone: az1, until: 1767268800}\n',
            'FILE: Expected `datetime`, got `int` - at `$[0].until` (line 1, column 22)',
        ),
        (
            GOOD.replace('}', ', evacuate: perhaps}'),
            'FILE: Expected `bool`, got `str` - at `$[0].evacuate` (line 1, column 56)',
        ),
        (
            GOOD.replace('}', ', drain: true}'),
            'FILE: Unknown key `drain`',
        ),
        (
            '- zone: az1\n  zone: az2\n',
            "FILE:2:3 is neither YAML nor JSON: found the key 'zone' twice",
        ),
        (GOOD + '---\n' + GOOD, 'FILE contains 2 documents, expected one'),
        ('- !!python/object/apply:os.system [reboot]\n', 'could not determine a constructor'),
        ('- &a [*a]\n', 'found an alias that refers to a node around it'),
        (
            '- &a [x, x, x, x, x, x, x, x, x]\n'
            + ''.join(
                f'- &{new} [{", ".join([f"*{old}"] * 9)}]\n'
                for old, new in zip('abcdefgh', 'bcdefghi', strict=True)
            ),
            'found aliases that add more than 33554432 characters',
        ),
        ('[' * 2000, 'nested too deeply'),
        ('- ' + 'x' * cordon_file.MAX_BYTES, 'FILE is larger than 262144 bytes; remove cordons'),
        (GOOD * 1001, 'FILE contains 1001 cordons, expected at most 1000'),
        (b'\xff\xfe', 'FILE is not UTF-8 text'),
        ('- {zone: "a\x07z", until: x}', 'unacceptable character #x0007'),
    ],
)
def test_read_invalid_file_raises_an_error_with_its_position(path, text, error):
    """Each error names the file, what is wrong and where."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    assert error in error_of(path)


def test_read_file_with_a_misspelled_key_names_it_before_the_missing_one(path):
    """The first error is the cause of the second."""
    path.write_text("- zone: az1\n  untill: '2026-12-01T06:00:00Z'\n")

    assert 'Unknown key `untill` (did you mean `until`?)' in error_of(path)


def test_read_file_with_several_errors_counts_them(path):
    """An operator sees that one correction will not be enough."""
    path.write_text('- {zone: az1}\n- {zone: az2}\n')

    assert 'and 1 more error' in error_of(path)


def test_read_missing_file_names_it_and_the_cause(path):
    """An operator can tell a wrong path from wrong content."""
    assert error_of(path) == (
        'Cannot read the cordon file: FILE: No such file or directory; create it, and write [] '
        'for no cordons'
    )


def test_read_folder_names_it_and_the_cause(tmp_path):
    """A folder is not read as a file."""
    assert error_of(tmp_path) == 'Cannot read the cordon file: FILE: Is a directory'


def test_read_pipe_does_not_wait_for_a_writer(path):
    """A named pipe blocks neither the start of a worker nor a request."""
    os.mkfifo(path)

    assert error_of(path) == 'Invalid cordon file: FILE is not a regular file; name a file'


def test_read_error_escapes_what_the_file_contains(path):
    """Control characters of the file do not reach a terminal or a log."""
    path.write_text('- {zone: az1, until: "\\x1b[2J"}\n')

    assert '\x1b' not in error_of(path)
