"""The validation of options, timeouts, arguments and the logging file, and its texts."""

import logging
from pathlib import Path

import pytest

from placement_worker.config import options, validation
from placement_worker.errors import ConfigurationError
from tests.config_files import default_options

SAMPLE = Path(__file__).parents[3] / 'conf' / 'logging.conf'


@pytest.fixture
def conf():
    """A configuration with the defaults."""
    options.set_defaults()
    return default_options()


@pytest.mark.parametrize(
    ('topics', 'message'),
    [
        ({'topic': ''}, 'topic is empty'),
        ({'slow_topic': ''}, 'slow_topic is empty'),
        ({'topic': 't', 'slow_topic': 't'}, 'topic and slow_topic must differ, both are t'),
        *(
            (
                {'topic': 't', 'slow_topic': name},
                f'slow_topic = {name} is the isolation queue or the parking lot of [worker] topic',
            )
            for name in ('t-suspects', 't-parked')
        ),
    ],
)
def test_validate_options_with_clashing_topics_raises(conf, topics, message):
    """No topic takes the requests of another queue."""
    for name, value in topics.items():
        conf.set_override(name, value, group='worker')

    with pytest.raises(ConfigurationError) as raised:
        validation.validate_options(conf)

    assert str(raised.value) == f'[worker] {message}'


@pytest.mark.parametrize(
    ('group', 'name', 'value', 'message'),
    [
        (None, 'graceful_shutdown_timeout', 600, r'engine_timeout_s \(600 s\) must be less than'),
        (None, 'graceful_shutdown_timeout', 0, r'graceful_shutdown_timeout \(endless\) must be'),
        ('worker', 'consumer_timeout_s', 900, r'must be less than \[worker\] consumer_timeout_s'),
        ('cloud', 'lookup_budget_s', 600, r'lookup_budget_s \(600.0 s\) must be less than'),
        ('worker', 'liveness_request_age_s', 600, r'\[worker\] liveness_request_age_s \(600 s\)'),
    ],
)
def test_validate_timeouts_out_of_order_raises(conf, group, name, value, message):
    """Each timeout exceeds the timeouts nested inside it."""
    conf.set_override(name, value, group=group)

    with pytest.raises(ConfigurationError, match=message):
        validation.validate_timeouts(conf)


def test_validate_timeouts_of_an_embedded_cloud_ignores_the_lookup_budget(conf):
    """An embedded cloud has no lookups that take time."""
    conf.set_override('backend', 'inventory', group='cloud')
    conf.set_override('lookup_budget_s', 6000, group='cloud')

    validation.validate_timeouts(conf)


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


@pytest.fixture
def logging_file(tmp_path):
    """The path of a logging file; the log of this process must not change."""
    before = list(logging.root.handlers), logging.root.level
    yield tmp_path / 'logging.conf'
    assert (list(logging.root.handlers), logging.root.level) == before
    assert not logging.getLogger('own').handlers


@pytest.mark.parametrize('text', [FILE, SAMPLE.read_text()], ids=['test', 'sample'])
def test_validate_of_a_right_logging_file_changes_no_log(logging_file, text):
    """The handlers of the file are created, closed and not installed."""
    logging_file.write_text(text)

    validation.validate_logging_file(str(logging_file))


@pytest.mark.parametrize(
    ('right', 'wrong', 'section', 'cause'),
    [
        ('StreamHandler', 'NoSuchHandler', 'handler_stderr', "No module named 'NoSuchHandler'"),
        ('formatter = plain', 'formatter = nope', 'handler_stderr', 'nope is missing'),
        ('level = DEBUG', 'level = LOUD', 'handler_stderr', "Unknown level: 'LOUD'"),
        ('target = stderr', 'target = nope', 'handler_memory', 'nope is missing'),
        ('args = (10,)', 'args = ()', 'handler_memory', "'capacity'"),
        ('args = (10,)', 'args = (', 'handler_memory', 'was never closed'),
        ('args = (10,)', 'args = (sys.nothing,)', 'handler_memory', 'sys'),
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
def test_validate_of_a_wrong_logging_file_names_section_and_cause(
    logging_file, right, wrong, section, cause
):
    """Each mistake that would stop fileConfig half-way is found before."""
    assert right in FILE
    logging_file.write_text(FILE.replace(right, wrong, 1))

    with pytest.raises(ConfigurationError) as raised:
        validation.validate_logging_file(str(logging_file))

    start = f'Cannot set up the log: {logging_file}, section [{section}]: '
    assert str(raised.value).startswith(start)
    assert cause in str(raised.value)


@pytest.mark.parametrize(
    ('content', 'cause'),
    [(b'[handlers\n', 'no section headers'), (b'\xff', "can't decode byte 0xff")],
)
def test_validate_of_a_malformed_logging_file_names_it(logging_file, content, cause):
    """A file that cannot be parsed has no section to name."""
    logging_file.write_bytes(content)

    with pytest.raises(ConfigurationError, match=cause) as raised:
        validation.validate_logging_file(str(logging_file))

    assert str(logging_file) in str(raised.value)


@pytest.mark.parametrize(
    ('exc', 'text'),
    [
        (ValueError("x from LocationInfo(location=<L.user: 4>, detail='a.conf')"), 'x from a.conf'),
        *(
            (ValueError(f"x: {cause}: 'many'"), "x: expected a number, got 'many'")
            for cause in (
                'invalid literal for int() with base 10',
                'could not convert string to float',
            )
        ),
        (UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'bad'), 'A file is not UTF-8 text: '),
    ],
)
def test_describe_error_names_files_without_python(exc, text):
    """An operator reads the name of the file and what to do."""
    assert validation.describe_error(exc).startswith(text)
