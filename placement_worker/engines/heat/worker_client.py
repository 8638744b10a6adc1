"""The client of heat-engine, and the [placement_worker] options of heat.conf that it needs."""

from collections.abc import Callable
from typing import Any, TypeVar

from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.engines.client_setup import GROUP, broker_options, create_client
from placement_worker.errors import ConfigurationError

T = TypeVar('T')
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


def list_opts() -> list[tuple[str, list[Any]]]:
    return [(GROUP, OPTIONS)]


def call(function: Callable[[PolicyClient], T], timeout_s: int) -> T:
    """Call a function with the client of this timeout.

    :raises PlacementWorkerError: heat.conf names no broker, no reply arrived in time, or the worker
        refused the request or failed.
    """
    group = cfg.CONF.placement_worker
    if not group.transport_url:
        raise ConfigurationError('[placement_worker] transport_url is not set in heat.conf')
    client = create_client(
        group.transport_url, exchange=group.exchange, topic=group.topic, timeout_s=timeout_s
    )
    return function(client)
