"""The start of the worker: read the configuration, set up the log, report a failure.

A request may contain any text. It must neither forge records of the log nor control a terminal, so
every handler of the log escapes its records.
"""

import argparse
import functools
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg
from oslo_log import log

from placement_worker import errors
from placement_worker.config import options, validation
from placement_worker.formats.text import escaped, escaped_lines

PROGRAM = 'placement-worker'
# Noisy or redundant loggers: `reload` logs the changed options in one line.
QUIET_LOGGERS = ('amqp=ERROR', 'oslo_config=WARNING', 'stevedore=CRITICAL')
# The errors that a configuration that cannot work raises.
STARTUP_ERRORS = (cfg.Error, errors.PlacementWorkerError, OSError, UnicodeDecodeError)
# Fields of a record that are not escaped. With the option `log_color`, oslo.log puts escape
# sequences of its own into the colors. The traceback was formatted by `_exception`, and the record
# keeps it for other handlers.
_UNESCAPED_FIELDS = frozenset({'color', 'reset_color', 'exc_text'})
_OWN_LOGGERS = 'placement_worker.'
_INSTALLED = '_escapes_records'


def configure(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Read the command line and the files that it names, and set up the log.

    :raises cfg.Error: an option does not exist or has an invalid value.
    :raises ConfigurationError: options contradict each other, or the log cannot be set up.
    """
    options.register(conf)
    log.register_options(conf)
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), *QUIET_LOGGERS])
    options.set_defaults()
    wrong = validation.describe_wrong_arguments(PROGRAM, arguments)
    if wrong:
        raise cfg.Error(wrong)
    _validate_log_options(conf, arguments)
    conf(arguments, project=PROGRAM, version=metadata.version(PROGRAM))
    validation.validate(conf)
    validation.validate_logging_file(conf.log_config_append)
    try:
        log.setup(conf, PROGRAM)
    except OSError:
        raise
    except Exception as exc:  # e.g. RuntimeError of use_journal without its library
        raise errors.ConfigurationError(f'Cannot set up the log: {exc}') from exc
    escape_records()


def _validate_log_options(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Check the options of the log in the files, before `conf` reads them.

    :raises cfg.Error: a file is unreadable, or an option has an invalid value.
    """
    trial = type(conf)()  # a subclass of the tests reads no files of the machine
    validation.register_log_options(trial)
    trial(_file_arguments(arguments), project=PROGRAM)
    validation.validate_defaults(trial)


def _file_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that name files."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ('--config-file', '--config-dir'):
        parser.add_argument(name, dest='named', action='append', type=f'{name}={{}}'.format)
    return parser.parse_known_args(arguments)[0].named or []


def report_failure(conf: cfg.ConfigOpts, exc: Exception) -> None:
    """Print an error on standard error, on one line: the log is possibly not set up yet."""
    read = f' ({validation.sources(conf)})' if isinstance(exc, errors.ConfigurationError) else ''
    print(escaped(f'{PROGRAM}: {describe_error(exc)}{read}'), file=sys.stderr)  # noqa: T201


def describe_error(exc: Exception) -> str:
    """Return the text of an error on one line."""
    text = errors.file_error(exc) if isinstance(exc, OSError) else validation.describe_error(exc)
    return escaped(' '.join(text.split()))


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
    for one in originals:  # grows during the loop
        if id(one) not in copies:
            copies[id(one)] = _copy_one(one)
            originals += filter(None, (one.__cause__, one.__context__))
    for one in originals:
        copy = copies[id(one)]
        copy.__cause__ = copies.get(id(one.__cause__))
        copy.__context__ = copies.get(id(one.__context__))
        copy.__suppress_context__ = one.__suppress_context__
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
