"""The validation of the file of log_config_append.

`logging.config.fileConfig` removes the present handlers before it creates those of the file, so a
mistake in the file would leave a running worker without a log.
"""

import configparser
import logging.config
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from typing import Any

from placement_worker.errors import ConfigurationError, file_error

# Private functions of CPython 3.11 to 3.14; other ways to create one part of the file would accept
# files that fileConfig refuses.
_PRIVATE: Mapping[str, Callable[..., dict[str, Any]]] = vars(logging.config)
_create_formatters, _install_handlers = (
    _PRIVATE['_create_formatters'],
    _PRIVATE['_install_handlers'],
)


def validate(path: str | None) -> None:
    """Create all formatters and handlers of a file without a change of the log.

    :param path: None for no file.
    :raises ConfigurationError: the file cannot be used; the text names the section and the cause.
    """
    if not path:
        return
    parser = configparser.ConfigParser()
    with _described(path), open(path, encoding='locale') as file:
        parser.read_file(file)
    formatters: dict[str, logging.Formatter] = {}
    for name in _names(path, parser, 'formatters'):
        with _described(path, f'formatter_{name}'):
            parser['formatters']['keys'] = name
            formatters.update(_create_formatters(parser))
    handlers = _names(path, parser, 'handlers')
    for name in handlers:
        with _described(path, f'handler_{name}'):
            _check_handler(parser, name, formatters, handlers)
    loggers = _names(path, parser, 'loggers')
    for name in dict.fromkeys(('root', *loggers)):
        with _described(path, f'logger_{name}'):
            _check_logger(parser[f'logger_{name}'], name, handlers)
    with _described(path, 'loggers'):
        _check_known('root', loggers)


def _check_handler(
    parser: configparser.ConfigParser,
    name: str,
    formatters: Mapping[str, logging.Formatter],
    handlers: Collection[str],
) -> None:
    target = parser[f'handler_{name}'].pop('target', '')
    parser['handlers']['keys'] = name
    handler = _install_handlers(parser, formatters)[name]
    handler.close()
    if isinstance(handler, MemoryHandler):
        _check_known(target, handlers)


def _check_logger(section: configparser.SectionProxy, name: str, handlers: Collection[str]) -> None:
    if name != 'root':
        _check_known('qualname', section)
        section.getint('propagate')
    logging.Logger(name, section.get('level', logging.NOTSET))
    _check_known(section['handlers'], handlers)


def _names(path: str, parser: configparser.ConfigParser, section: str) -> list[str]:
    with _described(path, section):
        return _split(parser[section]['keys'])


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(',')] if names else []


def _check_known(names: str, known: Collection[str]) -> None:
    for name in _split(names):
        if name not in known:
            raise KeyError(name)


@contextmanager
def _described(path: str, section: str | None = None) -> Iterator[None]:
    try:
        yield
    except Exception as exc:  # a file can name any class, and its arguments are evaluated
        if isinstance(exc, KeyError):
            cause = f'{exc.args[0]} is missing'
        else:
            cause = file_error(exc) if isinstance(exc, OSError) else str(exc)
        where = (
            f'{path}, section [{section}]: ' if section else '' if path in cause else f'{path}: '
        )
        raise ConfigurationError(
            f'Cannot set up the log: {where}{cause or type(exc).__name__}'
        ) from exc
