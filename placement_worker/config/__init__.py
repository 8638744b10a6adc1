"""Every option of placement-worker, one module a group."""

from typing import Any

from oslo_config import cfg

from placement_worker.config import cloud, worker


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration."""
    for group, options in list_opts():
        conf.register_opts(options, group=group)


def list_opts() -> list[tuple[str, list[Any]]]:
    """The options by group, for oslo-config-generator."""
    return [('worker', worker.OPTIONS), ('cloud', cloud.OPTIONS)]
