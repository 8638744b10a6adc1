"""The validation of the file of log_config_append."""

import logging
from pathlib import Path

import pytest

from placement_worker.config import logging_file
from placement_worker.errors import ConfigurationError

SAMPLE = Path(__file__).parents[3] / 'conf' / 'logging.conf'
FILE = """\
[loggers]
keys = root, own
[handlers]
keys = memory, stderr
[formatters]
keys = plain
[logger_root]
handlers = stderr
[logger_own]
qualname = own
propagate = 0
level = INFO
handlers = memory,stderr
[handler_memory]
class = handlers.MemoryHandler
args = (10,)
target = stderr
[handler_stderr]
class = StreamHandler
level = DEBUG
formatter = plain
[formatter_plain]
format = %(message)s
datefmt = %Y
"""


def logs():
    """Return the handlers and the level of the root logger."""
    return list(logging.root.handlers), logging.root.level


@pytest.mark.parametrize('text', [FILE, SAMPLE.read_text()], ids=['test', 'sample'])
def test_validate_of_a_right_file_changes_no_log(tmp_path, text):
    """The handlers of the file are created, closed and not installed."""
    file, before = tmp_path / 'logging.conf', logs()
    file.write_text(text)

    logging_file.validate(str(file))

    assert logs() == before
    assert not logging.getLogger('own').handlers


@pytest.mark.parametrize(
    ('right', 'wrong', 'section', 'cause'),
    [
        ('StreamHandler', 'NoSuchHandler', 'handler_stderr', "No module named 'NoSuchHandler'"),
        ('formatter = plain', 'formatter = nope', 'handler_stderr', 'nope is missing'),
        ('level = DEBUG', 'level = LOUD', 'handler_stderr', "Unknown level: 'LOUD'"),
        ('target = stderr', 'target = nope', 'handler_memory', 'nope is missing'),
        ('args = (10,)', 'args = ()', 'handler_memory', "'capacity'"),
        ('level = INFO', 'level = LOUD', 'logger_own', "Unknown level: 'LOUD'"),
        ('qualname = own', '', 'logger_own', 'qualname is missing'),
        ('propagate = 0', 'propagate = no', 'logger_own', 'invalid literal'),
        ('memory,stderr', 'memory,nope', 'logger_own', 'nope is missing'),
        ('keys = root, own', 'keys = own', 'loggers', 'root is missing'),
        ('keys = root, own', 'keys = root, more', 'logger_more', 'logger_more is missing'),
        ('keys = plain', 'keys = json', 'formatter_json', 'formatter_json is missing'),
        ('datefmt = %Y', 'class = no.Such', 'formatter_plain', "No module named 'no'"),
        ('[handlers]', '[handler]', 'handlers', 'handlers is missing'),
    ],
)
def test_validate_of_a_wrong_file_names_section_and_cause(tmp_path, right, wrong, section, cause):
    """Each mistake that would stop fileConfig half-way is found before."""
    file = tmp_path / 'logging.conf'
    assert right in FILE
    file.write_text(FILE.replace(right, wrong, 1))
    before = logs()

    with pytest.raises(ConfigurationError) as raised:
        logging_file.validate(str(file))

    assert str(raised.value).startswith(f'Cannot set up the log: {file}, section [{section}]: ')
    assert cause in str(raised.value)
    assert logs() == before


@pytest.mark.parametrize(
    ('content', 'cause'),
    [(b'[handlers\n', 'no section headers'), (b'\xff', "can't decode byte 0xff")],
)
def test_validate_of_a_malformed_file_names_it(tmp_path, content, cause):
    """A file that cannot be parsed has no section to name."""
    file = tmp_path / 'logging.conf'
    file.write_bytes(content)

    with pytest.raises(ConfigurationError, match=cause) as raised:
        logging_file.validate(str(file))

    assert str(file) in str(raised.value)
