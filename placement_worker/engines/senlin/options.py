"""[placement_worker] in senlin.conf: where the workers are, and how long the engine waits for
them.
"""

from typing import Any

from oslo_config import cfg

from placement_worker.contract.topics import EXCHANGE, SLOW_TOPIC, TOPIC

GROUP = 'placement_worker'
OPTIONS = [
    cfg.StrOpt(
        'transport_url',
        secret=True,
        help='The broker of the workers, e.g. rabbit://user:password@127.0.0.1:5672/placement. Options of the rabbit '
        "driver, TLS among them, go into the URL's query (?ssl=true&ssl_ca_file=...); Senlin's own do not count "
        'here, nor ours there. Without it Senlin decides by itself, as if the plug-in were not installed.',
    ),
    cfg.StrOpt('exchange', default=EXCHANGE, help="The workers' control_exchange."),
    cfg.StrOpt('topic', default=TOPIC, help="The workers' [worker] topic."),
    cfg.StrOpt('slow_topic', default=SLOW_TOPIC, help="The workers' [worker] slow_topic."),
    cfg.IntOpt(
        'timeout_s',
        default=60,
        min=1,
        help='How long, in seconds, a check of placement and deletion waits for its reply. After that it ends in '
        'ERROR, and so does the action.',
    ),
    cfg.IntOpt(
        'slow_timeout_s',
        default=600,
        min=1,
        help='The same where a load balancer may have to be waited for: attaching, detaching, and checks with a '
        'load-balancing policy. It has to be more than lb_status_timeout of the policies, and no more than '
        "[worker] engine_timeout_s of the workers' configuration.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to Senlin's configuration."""
    conf.register_opts(OPTIONS, group=GROUP)


def list_opts() -> list[tuple[str, list[Any]]]:
    """The options by group, for oslo-config-generator."""
    return [(GROUP, OPTIONS)]
