"""Errors of configuration files that oslo.config cannot place."""

import pytest
from oslo_config import cfg

from placement_worker import config
from placement_worker.config import parse_errors
from tests.config_files import Options


@pytest.mark.parametrize(
    ('content', 'described'),
    [
        (
            b'# ' + b'x' * 20000 + b'\n[worker]\n# M\xfcller\n',
            'Failed to parse FILE, line 3: byte 0xfc is not UTF-8',
        ),
        (
            b'# threads\n\nthreads = 3\nworkers = 2\n[worker]\n',
            'Failed to parse FILE, line 3: Section must be started before assignment: '
            "'threads = 3'",
        ),
        (b'[worker\n', 'Failed to parse FILE, line 1: Invalid section (must end with ]): '),
    ],
    ids=['byte', 'no-section', 'other'],
)
def test_error_of_a_malformed_file_names_file_and_line(tmp_path, content, described):
    """An operator finds the line, whatever oslo.config says about it."""
    file = tmp_path / 'w.conf'
    file.write_bytes(content)

    with pytest.raises((cfg.Error, UnicodeDecodeError)) as raised:
        Options()(['--config-file', str(file)])

    assert config.describe_error(raised.value).startswith(described.replace('FILE', str(file)))


def test_describe_of_a_byte_in_another_file_is_none():
    """Only files of the configuration are looked at."""
    with pytest.raises(UnicodeDecodeError) as raised:
        b'\xff'.decode()

    assert parse_errors.describe(raised.value) is None
