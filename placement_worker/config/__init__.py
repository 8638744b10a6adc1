"""Every option of placement-worker, one module a group."""

import itertools
import math
import re
from typing import Any

import oslo_messaging
from cotyledon import oslo_config_glue
from oslo_config import cfg
from oslo_log import _options as log_options
from oslo_reports import opts as report_options

from placement_worker.config import cloud, decision_log, load_balancer, metrics, worker
from placement_worker.contract import topics
from placement_worker.contract.topics import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.errors import ConfigurationError

GRACEFUL_SHUTDOWN_TIMEOUT_S = 900  # longer than an engine waits, shorter than RabbitMQ does


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration."""
    for group, options in own_opts():
        conf.register_opts(options, group=group)
    conf.register_opts(oslo_config_glue.service_opts)
    report_options.set_defaults(conf)


def set_defaults() -> None:
    """Where our defaults differ from those of the libraries."""
    oslo_messaging.set_transport_defaults(topics.EXCHANGE)
    cfg.set_defaults(
        oslo_config_glue.service_opts, graceful_shutdown_timeout=GRACEFUL_SHUTDOWN_TIMEOUT_S
    )


def validate(conf: cfg.ConfigOpts) -> None:
    """Look at every option now: oslo.config would tell of a wrong value when it is first used.

    :raises ConfigFileValueError: naming option, file and what is wrong.
    :raises ConfigurationError: the topics are one, or the time-outs are not in their order.
    """
    validate_options(conf)
    validate_timeouts(conf)


def validate_options(conf: cfg.ConfigOpts) -> None:
    """The part of `validate` that looks at each option."""
    for group, options in own_opts():
        for option in options:
            conf[group][option.dest]
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
    """Look at every option as its files have it now; the configuration itself does not change.

    :raises: what reading the files raises, and `validate`.
    """
    trial = cfg.ConfigOpts()
    register(trial)
    for group, options in log_options.list_opts():
        trial.register_opts(options, group=group)
    trial([], default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    validate(trial)
    for name in trial:
        trial[name]


def describe_error(exc: Exception) -> str:
    """Return the text of an error without the Python in oslo.config's messages."""
    if isinstance(exc, cfg.ConfigFilesNotFoundError):
        return f'{", ".join(exc.config_files)}: no such file; check --config-file'
    if isinstance(exc, cfg.ConfigFilesPermissionDeniedError):
        return (
            f'{", ".join(exc.config_files)}: permission denied; let the user of the worker read it'
        )
    return re.sub(r"LocationInfo\(location=<[^>]*>, detail='([^']*)'\)", r'\1', str(exc))


def sources(conf: cfg.ConfigOpts) -> str:
    """Which files a configuration was read from, in words."""
    read = ', '.join(conf.config_file)
    return (
        f'read: {read}' if read else 'no configuration file was read; --config-file FILE names one'
    )


def validate_timeouts(conf: cfg.ConfigOpts) -> None:
    """Who waits for something has to wait longer than it takes, or the work is done twice or for
    nothing.

    :raises ConfigurationError: somebody does not.
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
            told = 'endless' if low == math.inf else f'{low} s'
            raise ConfigurationError(f'{shorter} ({told}) must be less than {longer} ({high} s)')


def own_opts() -> list[tuple[str, list[Any]]]:
    """Our own options by group."""
    return [
        ('worker', worker.OPTIONS),
        ('cloud', cloud.OPTIONS),
        ('load_balancer', load_balancer.OPTIONS),
        ('metrics', metrics.OPTIONS),
        ('decision_log', decision_log.OPTIONS),
    ]


def list_opts() -> list[tuple[str, list[Any]]]:
    """The options by group, for oslo-config-generator."""
    from placement_worker.config import service_auth  # noqa: PLC0415  # keystoneauth, which only one backend needs

    return [*own_opts(), (service_auth.GROUP, service_auth.shown_options())]
