"""The validation of a configuration.

oslo.config reports an invalid value only when the option is first used.
"""

import itertools
import math
import re
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import _options as log_options

from placement_worker import config
from placement_worker.config import logging_file
from placement_worker.contract.rpc import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.errors import ConfigurationError


def validate(conf: cfg.ConfigOpts) -> None:
    """Check every option and the order of the timeouts.

    :raises ConfigFileValueError: an option has an invalid value; the text names the file.
    :raises ConfigurationError: options contradict each other.
    """
    validate_options(conf)
    validate_timeouts(conf)


def validate_options(conf: cfg.ConfigOpts) -> None:
    """Check every option, and that topics and queues have different names."""
    for group, options in config.own_opts():
        for option in options:
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
    """Check the current content of the files of a configuration, which itself does not change.

    :raises: the errors of reading the files, of `validate` and of `logging_file.validate`.
    """
    trial = cfg.ConfigOpts()
    config.register(trial)
    register_log_options(trial)
    trial([], default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    validate(trial)
    validate_defaults(trial)
    given = conf.get_location('log_config_append')
    is_argument = given and given.location is cfg.Locations.command_line
    logging_file.validate((conf if is_argument else trial).log_config_append)


def register_log_options(conf: cfg.ConfigOpts) -> None:
    """Register the options of oslo.log for files alone, not for the command line.

    If a file has an invalid value of an option of the command line, oslo.config 10.7 prints the
    value without the file, and exits.
    """
    for group, options in log_options.list_opts():
        conf.register_opts(options, group=group)


def validate_defaults(conf: cfg.ConfigOpts) -> None:
    """Check the options of the section DEFAULT, also those of oslo.log.

    :raises ConfigFileValueError: an option has an invalid value; the text names the file.
    """
    for name in conf:
        _validate_value(conf, name, 'DEFAULT')


def _validate_value(options: Mapping[str, Any], name: str, group: str) -> None:
    """Read an option, which validates its value.

    :raises ConfigSourceValueError: the value is not valid; oslo.config's text has no group.
    """
    try:
        options[name]
    except cfg.ConfigSourceValueError as exc:
        # The text has the name with hyphens if the option is declared with them.
        text = re.sub(r'(?<= option )[\w-]+', f'[{group}] {name}', str(exc), count=1)
        raise type(exc)(text) from exc


def validate_timeouts(conf: cfg.ConfigOpts) -> None:
    """Check that each timeout exceeds the timeouts nested inside it.

    Otherwise requests are handled twice, or their replies are lost.

    :raises ConfigurationError: a timeout is not longer than one nested inside it.
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
