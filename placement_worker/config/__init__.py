"""The options of placement-worker, one module per group.

Importing this loads no module of this package but `contract`, `errors` and `formats`.
"""

import re
from typing import Any

import oslo_messaging
from cotyledon import oslo_config_glue
from oslo_config import cfg
from oslo_reports import opts as report_options

from placement_worker.config import (
    cloud,
    decision_log,
    load_balancer,
    metrics,
    parse_errors,
    placement,
    worker,
)
from placement_worker.contract import rpc
from placement_worker.formats.text import without_python

GRACEFUL_SHUTDOWN_TIMEOUT_S = 900  # between the timeout of an engine and that of RabbitMQ


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options with a configuration."""
    for group, options in own_opts():
        conf.register_opts(options, group=group)
    conf.register_opts(oslo_config_glue.service_opts)
    report_options.set_defaults(conf)


def set_defaults() -> None:
    """Change defaults of libraries."""
    oslo_messaging.set_transport_defaults(rpc.EXCHANGE)
    cfg.set_defaults(
        oslo_config_glue.service_opts, graceful_shutdown_timeout=GRACEFUL_SHUTDOWN_TIMEOUT_S
    )


def own_opts() -> list[tuple[str, list[Any]]]:
    """Return the options that this package declares, by group."""
    return [
        ('worker', worker.OPTIONS),
        ('cloud', cloud.OPTIONS),
        ('load_balancer', load_balancer.OPTIONS),
        ('placement', placement.OPTIONS),
        ('metrics', metrics.OPTIONS),
        ('decision_log', decision_log.OPTIONS),
    ]


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return the options by group for oslo-config-generator."""
    # It imports keystoneauth, which only one backend needs.
    from placement_worker.config import service_auth  # noqa: PLC0415

    return [*own_opts(), (service_auth.GROUP, service_auth.sample_options())]


def describe_error(exc: Exception) -> str:
    """Return the text of an error without the Python in oslo.config's messages."""
    if isinstance(exc, cfg.ConfigFilesNotFoundError):
        return f'{", ".join(exc.config_files)}: no such file; check --config-file'
    if isinstance(exc, cfg.ConfigFilesPermissionDeniedError):
        return (
            f'{", ".join(exc.config_files)}: permission denied; let the user of the worker read it'
        )
    placed = parse_errors.describe(exc)
    if placed:
        return placed
    text = re.sub(r'(Failed to parse )(.+?): at \2:(\d+), ', r'\1\2, line \3: ', str(exc))
    return without_python(text)


def sources(conf: cfg.ConfigOpts) -> str:
    """Return a phrase that lists the files of a configuration."""
    files = ', '.join(conf.config_file)
    return (
        f'read: {files}'
        if files
        else 'no configuration file was read; --config-file FILE names one'
    )
