"""Log records on one line each, without control characters.

A request may contain any text. It must neither forge records of the log nor control a terminal, so
every handler escapes its records. The commands of placement-policy use this module, too, and must
not wait for the imports of the worker.
"""

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

from placement_worker.formats.text import escaped, escaped_lines

# Fields of a record that are not escaped. With the option `log_color`, oslo.log puts escape
# sequences of its own into the colors. The traceback was formatted by `_exception`, and the record
# keeps it for other handlers.
_UNESCAPED_FIELDS = frozenset({'color', 'reset_color', 'exc_text'})
_OWN_LOGGERS = 'placement_worker.'
_INSTALLED = '_escapes_records'


def escape_records() -> None:
    """Let the present handlers write each record on one line, without control characters.

    All records pass the formatters of the handlers, those of oslo.messaging, kombu and amqp
    included. Only line breaks from a format string and those between the lines of a traceback
    remain; the text of an exception is on one line. Repeated calls have no effect.
    """
    for handler in _handlers():
        formatter: Any = handler.formatter or logging.Formatter()
        if not hasattr(formatter, _INSTALLED):
            formatter.formatMessage = functools.partial(_message, formatter.formatMessage)
            formatter.formatException = functools.partial(_exception, formatter.formatException)
            formatter.format = functools.partial(_record, formatter.format)
            setattr(formatter, _INSTALLED, True)
            handler.setFormatter(formatter)


def _handlers() -> Iterator[logging.Handler]:
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        yield from getattr(logger, 'handlers', ())  # the manager holds placeholders, too


def _message(original: Callable[[logging.LogRecord], str], record: logging.LogRecord) -> str:
    """Format the line of a record.

    All fields are set at this point, `error_summary` of oslo.log included. It appends the exception
    that is being handled to each warning; messages of this package name their causes themselves.
    """
    fields = record.__dict__
    fields.update(
        {
            name: escaped(value)
            for name, value in fields.items()
            if isinstance(value, str) and not value.isprintable() and name not in _UNESCAPED_FIELDS
        }
    )
    line = original(record)
    if record.name.startswith(_OWN_LOGGERS) and not record.exc_info:
        line = line.removesuffix(f': {fields.get("error_summary")}')
    return line


def _exception(original: Callable[..., str], exc_info: Any, *record: Any, **named: Any) -> str:
    """Format a traceback; oslo.log begins each line of it like a record.

    oslo.log passes the record as well, up to 7.0 by position, and by name later.
    """
    kind, exc, traceback = exc_info
    if exc is not None:
        exc = _copy(exc)
        kind = type(exc)
    return original((kind, exc, traceback), *record, **named)


def _record(original: Callable[[logging.LogRecord], Any], record: logging.LogRecord) -> Any:
    """Format a whole record, and escape characters that a formatter added, such as DEL in JSON."""
    text = original(record)
    return (
        escaped_lines(text) if isinstance(text, str) and not getattr(record, 'color', '') else text
    )


def _copy(exc: BaseException) -> BaseException:
    """Return an exception that prints like this one and its causes, but with escaped texts."""
    originals = [exc]
    copies: dict[int, BaseException] = {}
    for original in originals:  # grows during the loop
        if id(original) not in copies:
            copies[id(original)] = _copy_one(original)
            originals += filter(None, (original.__cause__, original.__context__))
    for original in originals:
        copy = copies[id(original)]
        copy.__cause__ = copies.get(id(original.__cause__))
        copy.__context__ = copies.get(id(original.__context__))
        copy.__suppress_context__ = original.__suppress_context__
    return copies[id(exc)]


def _copy_one(exc: BaseException) -> BaseException:
    kind = type(exc)
    try:
        text = escaped(str(exc))
    except Exception:
        text = '<the text of the exception cannot be shown>'
    names = {
        '__module__': kind.__module__,
        '__qualname__': kind.__qualname__,
        '__str__': lambda _: text,
    }
    copy: Exception = type(kind.__name__, (Exception,), names)()
    copy.__traceback__ = exc.__traceback__
    for note in getattr(exc, '__notes__', ()):
        copy.add_note(escaped(str(note)))
    return copy
