"""The [placement_worker] options of heat.conf: the broker of the workers, and timeouts."""

from typing import Any

from oslo_config import cfg

from placement_worker.engines.client_setup import broker_options

GROUP = 'placement_worker'
OPTIONS = [
    *broker_options('Heat', 'Without this option, groups that need a worker fail with an error.'),
    cfg.IntOpt(
        'timeout_s',
        default=60,
        min=1,
        help='How long the creation, the update or the scaling of a group waits for a decision, '
        'in seconds. After that it fails, and the members of the group remain.',
    ),
    cfg.IntOpt(
        'validate_timeout_s',
        default=15,
        min=1,
        help='The same for the validation of a group. It must be shorter than '
        'rpc_response_timeout, after which heat-api reports an internal error.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options with Heat's configuration."""
    conf.register_opts(OPTIONS, group=GROUP)


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return the options by group, for oslo-config-generator."""
    return [(GROUP, OPTIONS)]
