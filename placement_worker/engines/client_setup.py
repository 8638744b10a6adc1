"""The client of an engine, and the [placement_worker] options of both engines.

An engine has a broker and options of oslo.messaging of its own. The client must not declare its
queues on the workers' broker by these options, so it has a configuration apart.
"""

import functools
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.rpc import EXCHANGE, TOPIC

GROUP = 'placement_worker'
# Groups that oslo.messaging registers in the configuration of the process alone, and reads in that
# of every transport.
_OBSERVED = ('oslo_messaging_metrics', 'oslo_messaging_tracing')
# The types of their options by the type of the value; all others are strings.
_KINDS: dict[type, Any] = {bool: cfg.BoolOpt, int: cfg.IntOpt}


def broker_options(engine: str, otherwise: str) -> list[Any]:
    """`otherwise` is a sentence on the effect of a missing URL."""
    return [
        cfg.StrOpt(
            'transport_url',
            secret=True,
            help='The broker of the workers, for example '
            'rabbit://user:password@127.0.0.1:5672/placement. Options of the rabbit driver, such '
            "as TLS, go into the URL's query (?ssl=true&ssl_ca_file=...); those of "
            f'{engine} do not apply. {otherwise}',
        ),
        cfg.StrOpt('exchange', default=EXCHANGE, help="The workers' control_exchange."),
        cfg.StrOpt('topic', default=TOPIC, help="The workers' [worker] topic."),
    ]


@functools.cache
def create_client(transport_url: str, **settings: Any) -> PolicyClient:
    """Return the client of this process; `settings` are parameters of `PolicyClient`."""
    return PolicyClient(transport_url, conf=separate_configuration(), **settings)


def ids(context: Any) -> Mapping[str, str]:
    """Return the ids of an engine's context, which also holds passwords and trusts."""
    if context is None:
        return {}
    names = ('request_id', 'user_id', 'project_id')
    return {name: value for name in names if (value := getattr(context, name, None))}


def separate_configuration(engine: cfg.ConfigOpts = cfg.CONF) -> cfg.ConfigOpts:
    """Return a configuration apart from the engine's, so that its queues keep their own options.

    The options that measure and trace messages are those of the engine.
    """
    conf = cfg.ConfigOpts()
    for group in filter(engine.__contains__, _OBSERVED):
        conf.register_opts(
            [
                _KINDS.get(type(value), cfg.StrOpt)(name, default=value)
                for name, value in engine[group].items()
            ],
            group,
        )
    conf([], project='placement_worker', default_config_files=[], default_config_dirs=[])
    return conf
