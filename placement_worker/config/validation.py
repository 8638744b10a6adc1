"""The checks of a configuration before it is used, and the texts of its errors.

oslo.config reports an invalid value only when the option is first used, argparse reports a wrong
argument after the usage of the whole program, and `logging.config.fileConfig` removes the present
handlers before it creates those of its file. A mistake would surface in the middle of the work, or
leave a running worker without a log.
"""

import configparser
import io
import itertools
import logging.config
import math
import re
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_log import _options as log_options
from oslo_log import log

from placement_worker.config import options
from placement_worker.contract.rpc import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.errors import ConfigurationError, file_error
from placement_worker.formats.text import nearest, shortened, without_python

# Private functions of CPython 3.11 to 3.14; other ways to create one part of the file would accept
# files that fileConfig refuses.
_create_formatters: Callable[..., dict[str, Any]] = vars(logging.config)['_create_formatters']
_install_handlers: Callable[..., dict[str, Any]] = vars(logging.config)['_install_handlers']
# From this similarity on, a known option is probably meant; --bogus has 0.67.
_SIMILAR = 0.7
_NO_SECTION = 'Section must be started before assignment'


def validate(conf: cfg.ConfigOpts) -> None:
    """Check every option and the order of the timeouts."""
    validate_options(conf)
    validate_timeouts(conf)


def validate_options(conf: cfg.ConfigOpts) -> None:
    for group, declared in options.GROUPS.items():
        for option in declared:
            _validate_value(conf[group], option.dest, group)
    _validate_value(conf, 'graceful_shutdown_timeout', 'DEFAULT')
    topic, slow_topic = conf.worker.topic, conf.worker.slow_topic
    for name in ('topic', 'slow_topic'):
        if not conf.worker[name]:
            raise ConfigurationError(f'[worker] {name} is empty')
    if topic == slow_topic:
        raise ConfigurationError(f'[worker] topic and slow_topic must differ, both are {topic}')
    if slow_topic in (topic + ISOLATION_SUFFIX, topic + PARKING_SUFFIX):
        raise ConfigurationError(
            f'[worker] slow_topic = {slow_topic} is the isolation queue or the parking lot of '
            '[worker] topic'
        )


def validate_files(conf: cfg.ConfigOpts) -> None:
    """Check the current content of the files of a configuration, which itself does not change."""
    trial = cfg.ConfigOpts()
    options.register(trial)
    register_log_options(trial)
    trial([], default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    validate(trial)
    validate_defaults(trial)
    given = conf.get_location('log_config_append')
    is_argument = given and given.location is cfg.Locations.command_line
    validate_logging_file((conf if is_argument else trial).log_config_append)


def register_log_options(conf: cfg.ConfigOpts) -> None:
    """Register the options of oslo.log for files alone, not for the command line.

    If a file has an invalid value of an option of the command line, oslo.config 10.7 prints the
    value without the file, and exits.
    """
    for group, declared in log_options.list_opts():
        conf.register_opts(declared, group=group)


def validate_defaults(conf: cfg.ConfigOpts) -> None:
    """Check the options of the section DEFAULT, also those of oslo.log.

    :raises ConfigFileValueError: an option has an invalid value; the text names the file.
    """
    for name in conf:
        _validate_value(conf, name, 'DEFAULT')


def _validate_value(section: Mapping[str, Any], name: str, group: str) -> None:
    """Read an option, which validates its value, and name its group in an error."""
    try:
        section[name]
    except cfg.ConfigSourceValueError as exc:
        # The text has the name with hyphens if the option is declared with them.
        text = re.sub(r'(?<= option )[\w-]+', f'[{group}] {name}', str(exc), count=1)
        raise type(exc)(text) from exc


def validate_timeouts(conf: cfg.ConfigOpts) -> None:
    """Check that each timeout exceeds the timeouts nested inside it.

    Otherwise requests are handled twice, or their replies are lost.
    """
    engine = ('[worker] engine_timeout_s', conf.worker.engine_timeout_s)
    _check_order(
        engine,
        ('[DEFAULT] graceful_shutdown_timeout', conf.graceful_shutdown_timeout or math.inf),
        ('[worker] consumer_timeout_s', conf.worker.consumer_timeout_s),
    )
    if conf.cloud.backend == 'openstack':
        _check_order(('[cloud] lookup_budget_s', conf.cloud.lookup_budget_s), engine)
    _check_order(engine, ('[worker] liveness_request_age_s', conf.worker.liveness_request_age_s))


def _check_order(*order: tuple[str, float]) -> None:
    for (shorter, low), (longer, high) in itertools.pairwise(order):
        if not low < high:
            value = 'endless' if low == math.inf else f'{low} s'
            raise ConfigurationError(f'{shorter} ({value}) must be less than {longer} ({high} s)')


def validate_logging_file(path: str | None) -> None:
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
    for name in _keys_of(path, parser, 'formatters'):
        with _described(path, f'formatter_{name}'):
            parser['formatters']['keys'] = name
            formatters.update(_create_formatters(parser))
    handlers = _keys_of(path, parser, 'handlers')
    for name in handlers:
        with _described(path, f'handler_{name}'):
            _check_handler(parser, name, formatters, handlers)
    loggers = _keys_of(path, parser, 'loggers')
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


def _keys_of(path: str, parser: configparser.ConfigParser, section: str) -> list[str]:
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


def describe_wrong_arguments(
    program: str, arguments: Sequence[str], more: Sequence[str] = ()
) -> str | None:
    """Return a sentence about an unknown option, a surplus argument or a missing value, or None.

    argparse prints all options, with the value of the unknown one as a part of its error. It also
    accepts abbreviations, which are therefore known.

    :param more: the options of the program besides those of oslo.config and oslo.log.
    """
    usage = _library_usage(program)
    known = [*more, *re.findall(r'--[\w-]+', usage), '--help']
    for argument in arguments:
        name = argument.partition('=')[0]
        if name.startswith('--') and not any(option.startswith(name) for option in known):
            near = _nearest(shortened(name), known)
            meant = f' (did you mean {near}?)' if near else ''
            return f'Unknown option {shortened(name)}{meant}; run "{program} --help" for the usage'
    wrong = _wrong_value(arguments, re.findall(r'(--[\w-]+) [A-Z{]', usage), bool(more))
    return wrong and f'{wrong}; run "{program} --help" for the usage'


def _nearest(name: str, known: Sequence[str]) -> str | None:
    # A comparison with whole options would prefer --config-dir to --config-file for --confg.
    beginnings = {option[: len(name) + 1]: option for option in sorted(known)}
    near = nearest(name, beginnings, _SIMILAR)
    return near and beginnings[near]


def _wrong_value(
    arguments: Sequence[str], with_values: Sequence[str], has_commands: bool
) -> str | None:
    option = None
    for argument in [*arguments, '--']:
        if argument.startswith('-'):
            if option:
                return f'Option {option} needs a value'
        elif not option and not has_commands:
            return f'Unexpected argument {shortened(argument)}'
        is_open = len(argument) > len('--') and any(o.startswith(argument) for o in with_values)
        option = argument if is_open else None
    return None


def _library_usage(program: str) -> str:
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([], project=program, version='', default_config_files=[], default_config_dirs=[])
    usage = io.StringIO()
    conf.print_usage(usage)
    return usage.getvalue()


def describe_error(exc: Exception) -> str:
    if isinstance(exc, cfg.ConfigFilesNotFoundError):
        return f'{", ".join(exc.config_files)}: no such file; check --config-file'
    if isinstance(exc, cfg.ConfigFilesPermissionDeniedError):
        return (
            f'{", ".join(exc.config_files)}: permission denied; let the user of the worker read it'
        )
    if isinstance(exc, cfg.ConfigFileParseError) and _NO_SECTION in str(exc.msg):
        return _first_assignment(exc.config_file)
    path = _parsed_file(exc) if isinstance(exc, UnicodeDecodeError) else None
    if path:
        return _first_undecodable(path)
    text = re.sub(r'(Failed to parse )(.+?): at \2:(\d+), ', r'\1\2, line \3: ', str(exc))
    return without_python(text)


def sources(conf: cfg.ConfigOpts) -> str:
    files = ', '.join(conf.config_file)
    return (
        f'read: {files}'
        if files
        else 'no configuration file was read; --config-file FILE names one'
    )


def _first_assignment(path: str) -> str:
    """Describe an assignment before the first section, which oslo.config 10.7 finds later."""
    lines = enumerate((line.decode().strip() for line in _lines(path)), start=1)
    number, line = next((number, line) for number, line in lines if line and line[0] not in '#;')
    return f'Failed to parse {path}, line {number}: {_NO_SECTION}: {line!r}'


def _first_undecodable(path: str) -> str:
    """Describe the first byte that is not text; its error has a position in an unnamed block."""
    for number, line in enumerate(_lines(path), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as exc:
            byte = line[exc.start]
            return f'Failed to parse {path}, line {number}: byte 0x{byte:02x} is not UTF-8'
    return f'Failed to parse {path}'  # it has changed meanwhile


def _lines(path: str) -> list[bytes]:
    return Path(path).read_bytes().split(b'\n')


def _parsed_file(exc: Exception) -> str | None:
    """Return the file that oslo.config was reading; only its frame knows it."""
    frames = (frame for frame, _ in traceback.walk_tb(exc.__traceback__))
    parsers = (frame.f_locals.get('self') for frame in frames)
    return next(
        (parser.filename for parser in parsers if isinstance(parser, cfg.ConfigParser)), None
    )
