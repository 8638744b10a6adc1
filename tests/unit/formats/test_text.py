"""Text for people: plurals, bounded lists, and untrusted text without control characters."""

import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
from oslo_log import formatters, log

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.colors import Paint
from placement_worker.formats.text import counted, escaped, escaped_lines, listed, shortened
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.worker import log_lines
from tests import hostile_requests

REQUESTS = dict(hostile_requests.requests())
SHOWN = [
    ('check', '-f', 'table'), ('check', '-f', 'table', '--explain', 'full'),
    ('check', '-f', 'json'), ('check', '-f', 'yaml'), ('check', '--lines'),
    ('plan', '-f', 'table'), ('plan', '-f', 'json'),
]  # fmt: skip
CLOUD = {
    'zones': {'a': True, 'b': True, hostile_requests.TEXT: True},
    'regions': ['R1', hostile_requests.TEXT],
}


@pytest.fixture
def written(monkeypatch, caplog):
    """Return the text that this package logs during an action, and its number of records."""
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([])
    logger = logging.getLogger('placement_worker')
    monkeypatch.setattr(logger, 'propagate', False)
    caplog.set_level(logging.DEBUG, 'placement_worker')  # also forgets which levels are enabled

    def write(act, formatter=None):
        stream, records = io.StringIO(), []
        handler = logging.StreamHandler(stream)
        handler.addFilter(lambda record: records.append(record) or True)
        handler.setFormatter(formatter or formatters.ContextFormatter(config=conf))
        monkeypatch.setattr(logger, 'handlers', [handler])
        log_lines.install()
        log_lines.install()
        act(logger)
        return stream.getvalue(), len(records)

    return write


@pytest.mark.parametrize(
    ('count', 'words'), [(0, '0 nodes'), (1, '1 node'), (2, '2 nodes'), ('?', '? nodes')]
)
def test_counted_with_one_uses_the_singular(count, words):
    """A number of nodes reads as English."""
    assert counted(count, 'node') == words


def test_counted_with_an_irregular_noun_uses_its_plural():
    """A noun may have a plural that does not end in one more "s"."""
    assert [counted(n, 'reply', 'replies') for n in (1, 2)] == ['1 reply', '2 replies']


@pytest.mark.parametrize(
    ('items', 'shown'), [('', ''), ('a', 'a'), ('abc', 'a, b, c'), ('abcde', 'a, b, c and 2 more')]
)
def test_listed_with_more_items_than_the_limit_counts_the_others(items, shown):
    """A list in a message is bounded, and states how many items it omits."""
    assert listed(items, limit=3) == shown


@pytest.mark.parametrize(
    ('length', 'shown'), [(80, 'x' * 80), (81, 'x' * 80 + '...')], ids=['fits', 'too-long']
)
def test_shortened_with_a_long_text_returns_its_beginning(length, shown):
    """A message shows at most 80 characters of a value."""
    assert shortened('x' * length) == shown


@pytest.mark.parametrize(
    'char', hostile_requests.CHARACTERS.values(), ids=list(hostile_requests.CHARACTERS)
)
def test_escaped_with_an_unprintable_character_returns_a_printable_text(char):
    """No character that controls a terminal or ends a line passes."""
    assert escaped(f'a{char}b').isprintable()


@given(st.text(st.characters()))
def test_escaped_in_a_json_text_keeps_the_meaning(text):
    """Escaped JSON decodes to the data that was encoded."""
    encoded = json.dumps({text: text}, ensure_ascii=False)

    assert json.loads(escaped(encoded)) == {text: text}
    assert escaped(escaped(text)) == escaped(text)


def test_escaped_with_a_lone_surrogate_returns_a_text_that_can_be_written():
    """Text that UTF-8 cannot encode is shown in escaped form."""
    assert escaped('a\ud800') == 'a\\ud800'


def test_escaped_lines_with_indented_json_keeps_the_line_breaks():
    """Line breaks stay, and the text of each line is escaped."""
    assert escaped_lines('{\n  "a": "\x9b"\n}') == '{\n  "a": "\\u009b"\n}'


def test_escaped_with_printable_text_of_any_script_returns_it_unchanged():
    """Names of people and places in other scripts stay readable."""
    assert escaped('Zürich 東京 \\n "x"') == 'Zürich 東京 \\n "x"'


def test_paint_with_an_escape_sequence_in_the_text_leaves_only_its_own():
    """Only the program sets colors."""
    assert Paint(on=True)('a\x1b[2J', 'red') == '\x1b[31ma\\u001b[2J\x1b[0m'


def test_error_with_hostile_text_is_one_printable_line():
    """The message of an error contains no control character."""
    assert hostile_requests.raw(str(errors.InvalidRequest(hostile_requests.TEXT))) == []


def test_log_with_a_hostile_message_writes_one_line(written):
    """A log record is one line whatever its arguments contain."""
    text, _ = written(lambda logger: logger.warning('Request %s', hostile_requests.TEXT))

    assert hostile_requests.raw(text) == []
    assert text.count('\n') == 1


@pytest.mark.parametrize(
    'formatter', [None, logging.Formatter('%(levelname)s %(message)s')], ids=['oslo', 'plain']
)
def test_log_with_a_hostile_exception_writes_a_traceback_without_forged_lines(written, formatter):
    """The text of an exception, of its cause and of its notes cannot begin a line of the log."""

    def fail(logger):
        try:
            try:
                raise KeyError(hostile_requests.TEXT)
            except KeyError as exc:
                exc.add_note(hostile_requests.TEXT)
                raise ValueError(hostile_requests.TEXT) from exc
        except ValueError:
            logger.exception('It failed')

    text, _ = written(fail, formatter)

    assert hostile_requests.raw(text) == []
    assert all(
        word in text
        for word in ('KeyError: ', 'ValueError: evil\\n', 'direct cause', 'raise KeyError')
    )
    assert not any(
        hostile_requests.FORGED in line and 'evil' not in line for line in text.splitlines()
    )


@pytest.mark.parametrize(
    'formatter', [None, logging.Formatter('%(levelname)s %(message)s')], ids=['oslo', 'plain']
)
def test_log_with_a_traceback_and_two_handlers_keeps_its_lines_in_both(written, formatter):
    """A traceback keeps its lines when a second handler formats the same record."""

    def fail(logger):
        logger.handlers *= 2
        try:
            raise ValueError(hostile_requests.TEXT)
        except ValueError:
            logger.exception('It failed')

    text, _ = written(fail, formatter)

    begun = [line for line in text.splitlines() if 'Traceback' in line]
    assert len(begun) == 2
    assert all(line.endswith('Traceback (most recent call last):') for line in begun)
    assert hostile_requests.raw(text) == []


def test_log_with_an_exception_that_is_only_being_handled_writes_one_line(written):
    """The summary that oslo.log adds about the current exception is escaped as well."""

    def fail(logger):
        try:
            raise errors.ConfigurationError from RuntimeError(hostile_requests.TEXT)
        except errors.ConfigurationError:
            try:
                raise RuntimeError(hostile_requests.TEXT)
            except RuntimeError:
                logger.error('It failed')

    text, _ = written(fail)

    assert hostile_requests.raw(text) == []
    assert text.count('\n') == 1
    assert 'RuntimeError: evil' in text


def test_log_in_json_with_hostile_text_writes_one_line_that_says_the_same(written):
    """The JSON formatter of oslo.log writes no control character, not even DEL."""
    text, _ = written(
        lambda logger: logger.warning('%s', hostile_requests.TEXT), formatters.JSONFormatter()
    )

    assert hostile_requests.raw(text) == []
    assert hostile_requests.TEXT in json.loads(text)['args']


def test_log_with_an_exception_that_has_no_text_is_written(written):
    """An exception whose text raises does not lose the record."""

    class Broken(Exception):
        def __str__(self):
            raise TypeError('no text')

    def fail(logger):
        logger.error('It failed', exc_info=Broken())

    text, _ = written(fail)

    assert 'It failed' in text


def test_guard_with_a_handler_without_formatter_escapes_its_output(written):
    """A handler without a formatter escapes its output as well."""
    stream = io.StringIO()

    def act(logger):
        logger.handlers[:] = [logging.StreamHandler(stream)]
        log_lines.install()
        logger.warning('a\nb')

    written(act)

    assert stream.getvalue() == 'a\\nb\n'


@pytest.mark.parametrize('name', REQUESTS)
def test_endpoints_with_a_hostile_field_log_one_line_per_record(written, registry, name):
    """No field of a request reaches the log or the error reply unescaped."""
    messages = []

    def decide(_):
        try:
            Endpoints(Inventory.parse(CLOUD, 'test'), registry).policy_check(REQUESTS[name])
        except errors.PlacementWorkerError as exc:
            messages.append(str(exc))

    text, records = written(decide)

    assert [*hostile_requests.raw(text), *hostile_requests.raw(' '.join(messages))] == []
    assert text.count('\n') == records > 0


@pytest.mark.parametrize('name', REQUESTS)
def test_commands_with_a_hostile_field_print_no_control_characters(program, name):
    """Tables, JSON, YAML and errors are safe on a terminal, whichever field is hostile."""
    for command, *options in SHOWN:
        status, out, err = program(
            command, *options, '--cloud', 'cloud', 'f', f=REQUESTS[name], cloud=CLOUD
        )

        assert hostile_requests.raw(out + err) == [], (command, *options)
        assert status in (0, 1, 2)


def test_unknown_command_with_control_characters_is_shown_escaped(program):
    """The name of an unknown command cannot control the terminal."""
    _, out, err = program('\x1b[2Jevil')

    assert hostile_requests.raw(out + err) == []
    assert 'evil' in err
