"""The checks of a configuration before it is used, and the texts of its errors.

oslo.config reports an invalid value only when the option is first used, and
`logging.config.fileConfig` removes the present handlers before it creates those of its file. A
mistake would surface in the middle of the work, or leave a running worker without a log.
"""

import configparser
import itertools
import logging.config
import math
import re
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from logging.handlers import MemoryHandler
from typing import Any

from oslo_config import cfg
from oslo_log import _options as log_options

from placement_worker.config import options
from placement_worker.contract.rpc import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.errors import ConfigurationError, file_error
from placement_worker.formats.text import without_python

# Private functions of CPython 3.11 to 3.14; other ways to create one part of the file would accept
# files that fileConfig refuses.
_create_formatters: Callable[..., dict[str, Any]] = vars(logging.config)['_create_formatters']
_install_handlers: Callable[..., dict[str, Any]] = vars(logging.config)['_install_handlers']


def validate(conf: cfg.ConfigOpts) -> None:
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
    parser, where = configparser.ConfigParser(), path
    try:
        with open(path, encoding='locale') as file:
            parser.read_file(file)
        for section in _validated_sections(parser):
            where = f'{path}, section [{section}]'
    except Exception as exc:  # a file can name any class, and its arguments are evaluated
        if isinstance(exc, KeyError):
            cause = f'{exc.args[0]} is missing'
        else:
            cause = file_error(exc) if isinstance(exc, OSError) else str(exc)
        text = cause if where in cause else f'{where}: {cause or type(exc).__name__}'
        raise ConfigurationError(f'Cannot set up the log: {text}') from exc


def _validated_sections(parser: configparser.ConfigParser) -> Iterator[str]:
    """Yield the name of each section just before it is validated."""
    yield 'formatters'
    formatters: dict[str, logging.Formatter] = {}
    for name in _split(parser['formatters']['keys']):
        yield f'formatter_{name}'
        parser['formatters']['keys'] = name
        formatters.update(_create_formatters(parser))
    yield 'handlers'
    handlers = _split(parser['handlers']['keys'])
    for name in handlers:
        yield f'handler_{name}'
        target = parser[f'handler_{name}'].pop('target', '')
        parser['handlers']['keys'] = name
        handler = _install_handlers(parser, formatters)[name]
        handler.close()
        if isinstance(handler, MemoryHandler):
            _check_known(target, handlers)
    yield 'loggers'
    loggers = _split(parser['loggers']['keys'])
    _check_known('root', loggers)
    for name in loggers:
        yield f'logger_{name}'
        section = parser[f'logger_{name}']
        if name != 'root':
            _check_known('qualname', section)
            section.getint('propagate')
        logging.Logger(name, section.get('level', logging.NOTSET))
        _check_known(section['handlers'], handlers)


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(',')] if names else []


def _check_known(names: str, known: Collection[str]) -> None:
    for name in _split(names):
        if name not in known:
            raise KeyError(name)


def describe_error(exc: Exception) -> str:
    text = without_python(str(exc))
    if not isinstance(exc, UnicodeDecodeError):
        return text
    # Only the frame of oslo.config's parser knows the file.
    parsers = [frame.f_locals.get('self') for frame, _ in traceback.walk_tb(exc.__traceback__)]
    files = [parser.filename for parser in parsers if isinstance(parser, cfg.ConfigParser)]
    return f'{"".join(files[-1:]) or "A file"} is not UTF-8 text: {text}'


def sources(conf: cfg.ConfigOpts) -> str:
    if files := ', '.join(conf.config_file):
        return f'read: {files}'
    return 'no configuration file was read; --config-file FILE names one'
