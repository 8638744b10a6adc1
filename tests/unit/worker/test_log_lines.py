"""Escaping in the handlers of the log."""

import io
import logging

import pytest

from placement_worker.worker import log_lines


@pytest.fixture
def logger():
    """A logger with a handler that writes to memory and escapes."""
    logger = logging.getLogger('test_log_lines')
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    log_lines.install()
    log_lines.install()
    yield logger, handler.stream
    logger.removeHandler(handler)


def test_record_with_line_breaks_and_control_characters_takes_one_line(logger):
    """A request cannot forge records of the log or control a terminal."""
    log, stream = logger

    log.error('%s', 'a\nb\x1b[2J')

    assert stream.getvalue() == 'a\\nb\\u001b[2J\n'


def test_traceback_has_the_text_of_each_exception_on_one_line(logger):
    """The causes of an exception are escaped, too."""
    log, stream = logger

    try:
        try:
            raise ValueError('in\nner')
        except ValueError as exc:
            raise KeyError('out\ner') from exc
    except KeyError:
        log.exception('failed')

    text = stream.getvalue()
    assert 'ValueError: in\\nner\n' in text
    assert 'direct cause' in text
    assert 'out\\\\ner' in text or 'out\\ner' in text


def test_exception_whose_text_cannot_be_shown_is_logged_all_the_same(logger):
    """An exception with a broken __str__ does not suppress its record."""
    log, stream = logger

    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    try:
        raise Broken
    except Broken as exc:
        exc.add_note('a\nnote')
        log.exception('failed')

    assert 'Broken: <the text of the exception cannot be shown>' in stream.getvalue()
    assert 'a\\nnote' in stream.getvalue()


def test_record_of_a_plain_call_is_unchanged(logger):
    """Printable text stays as it is."""
    log, stream = logger

    log.warning('Grüße %d', 7)

    assert stream.getvalue() == 'Grüße 7\n'
