"""The [placement_worker] options of senlin.conf: the broker of the workers, and timeouts."""

from typing import Any

from oslo_config import cfg

from placement_worker.contract.rpc import SLOW_TOPIC
from placement_worker.engines.client_setup import broker_options

GROUP = 'placement_worker'
OPTIONS = [
    *broker_options(
        'Senlin',
        'Without this option Senlin decides by itself, as if the plugin were not installed.',
    ),
    cfg.StrOpt('slow_topic', default=SLOW_TOPIC, help="The workers' [worker] slow_topic."),
    cfg.IntOpt(
        'timeout_s',
        default=60,
        min=1,
        help='How long a check of placement and deletion waits for its reply, in seconds. After '
        'that the check and its action end in ERROR.',
    ),
    cfg.IntOpt(
        'slow_timeout_s',
        default=600,
        min=1,
        help='The same for requests that may wait for a load balancer: attaching, detaching, and '
        'checks with a load-balancing policy. It must be greater than lb_status_timeout of the '
        "policies, and at most [worker] engine_timeout_s of the workers' configuration.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options with Senlin's configuration."""
    conf.register_opts(OPTIONS, group=GROUP)


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return the options by group, for oslo-config-generator."""
    return [(GROUP, OPTIONS)]
