"""Log records with hostile text: one line each, without control characters."""

import io
import json
import logging

import pytest
from oslo_config import cfg
from oslo_log import formatters, log

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.worker import log_lines
from tests import hostile_requests

REQUESTS = dict(hostile_requests.requests())
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


@pytest.fixture
def logger():
    """A logger with a handler without a formatter, which writes to memory and escapes."""
    logger = logging.getLogger('test_log_lines')
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    log_lines.install()
    log_lines.install()
    yield logger, handler.stream
    logger.removeHandler(handler)


def test_record_with_line_breaks_and_control_characters_takes_one_line(logger):
    """A request cannot forge records of the log or control a terminal."""
    target, stream = logger

    target.error('%s', 'a\nb\x1b[2J')

    assert stream.getvalue() == 'a\\nb\\u001b[2J\n'


def test_traceback_has_the_text_of_each_exception_on_one_line(logger):
    """The causes of an exception are escaped, too."""
    target, stream = logger

    try:
        try:
            raise ValueError('in\nner')
        except ValueError as exc:
            raise KeyError('out\ner') from exc
    except KeyError:
        target.exception('failed')

    text = stream.getvalue()
    assert 'ValueError: in\\nner\n' in text
    assert 'direct cause' in text
    assert 'out\\\\ner' in text or 'out\\ner' in text


def test_exception_whose_text_cannot_be_shown_is_logged_all_the_same(logger):
    """An exception with a broken __str__ does not suppress its record."""
    target, stream = logger

    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    try:
        raise Broken
    except Broken as exc:
        exc.add_note('a\nnote')
        target.exception('failed')

    assert 'Broken: <the text of the exception cannot be shown>' in stream.getvalue()
    assert 'a\\nnote' in stream.getvalue()


def test_record_of_a_plain_call_is_unchanged(logger):
    """Printable text stays as it is."""
    target, stream = logger

    target.warning('Grüße %d', 7)

    assert stream.getvalue() == 'Grüße 7\n'


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


def test_log_of_this_package_while_an_exception_is_handled_says_the_cause_once(written):
    """The messages of the package name their causes, so a summary would repeat them."""

    def fail(logger):
        try:
            raise errors.ConfigurationError('it is too late')
        except errors.ConfigurationError as exc:
            logger.getChild('cordons').warning('Kept the cordons: %s', exc)

    text, _ = written(fail)

    assert text.endswith('Kept the cordons: it is too late\n')


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
