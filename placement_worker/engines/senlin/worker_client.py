"""The client of Senlin's engine, and the [placement_worker] options of senlin.conf."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import oslo_messaging
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.contract.rpc import SLOW_TOPIC
from placement_worker.engines.client_setup import GROUP, broker_options, create_client, ids
from placement_worker.errors import PlacementWorkerError

# The errors that a call raises when the worker or the broker fails.
FAILURES = (PlacementWorkerError, oslo_messaging.MessagingException)
R = TypeVar('R', CheckRequest, BindRequest)
T = TypeVar('T')
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


def list_opts() -> list[tuple[str, list[Any]]]:
    return [(GROUP, OPTIONS)]


def is_configured() -> bool:
    return bool(cfg.CONF.placement_worker.transport_url)


def call(method: Callable[[PolicyClient, R, Mapping[str, str]], T], request: R, context: Any) -> T:
    """Call a worker with the timeouts of the configuration.

    :raises: one of `FAILURES`.
    """
    # The options have the names of the client's parameters.
    client = create_client(**cfg.CONF.placement_worker)
    return method(client, request, ids(context))
