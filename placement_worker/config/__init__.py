"""Every option of placement-worker, one module a group."""

from typing import Any

import oslo_messaging
from oslo_config import cfg

from placement_worker import rpc
from placement_worker.config import cloud, worker


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration."""
    for group, options in list_opts():
        conf.register_opts(options, group=group)


def set_defaults() -> None:
    """Where our defaults differ from those of the libraries."""
    oslo_messaging.set_transport_defaults(rpc.EXCHANGE)


def validate(conf: cfg.ConfigOpts) -> None:
    """Look at every option now: oslo.config would tell of a wrong value when it is first used.

    :raises ConfigFileValueError: naming option, file and what is wrong.
    """
    for group, options in list_opts():
        for option in options:
            conf[group][option.dest]


def list_opts() -> list[tuple[str, list[Any]]]:
    """The options by group, for oslo-config-generator."""
    return [('worker', worker.OPTIONS), ('cloud', cloud.OPTIONS)]
