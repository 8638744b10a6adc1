"""How the engine reaches the workers: a client with settings of its own, and a bound on every
call.
"""

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import eventlet
import oslo_messaging
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.contract.topics import is_slow
from placement_worker.errors import NoWorkerAnswered, PlacementWorkerError

LOG = logging.getLogger(__name__)
GRACE_S = 2
"""How much longer than the client itself the engine waits: the client knows better what is
wrong.
"""
OBSERVED = ('oslo_messaging_metrics', 'oslo_messaging_tracing')
"""Groups that oslo.messaging makes known to the process's configuration alone, and asks any for."""
KINDS: dict[type, Any] = {bool: cfg.BoolOpt, int: cfg.IntOpt}
"""The options in them, by the type of their values; all others are strings."""
FAILURES = (PlacementWorkerError, oslo_messaging.MessagingException)
"""What a call may raise that is no fault of the engine."""

R = TypeVar('R', CheckRequest, BindRequest)
T = TypeVar('T')


def is_configured() -> bool:
    """Whether senlin.conf says where the workers are."""
    return bool(cfg.CONF.placement_worker.transport_url)


def ask(method: Callable[[PolicyClient, R, Mapping[str, str]], T], request: R, context: Any) -> T:
    """Call a worker from a greenthread of its own, and wait no longer than the configuration says.

    The client bounds its waiting for a reply; a broker that holds connections and says nothing
    keeps it for longer.

    :param method: of the client.
    :param context: Senlin's; its ids travel along.
    :raises NoWorkerAnswered: no reply came in time.
    :raises PlacementWorkerError: the worker refused the request, or failed.
    """
    group = cfg.CONF.placement_worker
    timeout_s = group.slow_timeout_s if is_slow(request) else group.timeout_s
    calling = eventlet.spawn(method, _client(**group), request, _ids(context))
    limit = eventlet.Timeout(timeout_s + GRACE_S)
    try:
        answer: T = calling.wait()
    except eventlet.Timeout as exc:
        if exc is not limit:
            raise
        raise NoWorkerAnswered(
            f'No worker answered within {timeout_s} s: the broker does not respond'
        ) from exc
    finally:
        limit.cancel()
    return answer


def _ids(context: Any) -> Mapping[str, str]:
    """Who asks, of Senlin's context; it holds passwords and trusts, too."""
    if context is None:
        return {}
    known = {name: getattr(context, name, None) for name in ('request_id', 'user_id', 'project_id')}
    return {name: value for name, value in known.items() if value}


@functools.cache
def _client(transport_url: str, **settings: Any) -> PolicyClient:
    """The client of this process; its parameters are called as the options are."""
    return PolicyClient(transport_url, conf=_own_settings(), **settings)


def _own_settings() -> cfg.ConfigOpts:
    """A configuration apart from Senlin's, so that neither's queues follow the other's options.

    Whether messages are measured and traced is as Senlin says.
    """
    conf = cfg.ConfigOpts()
    for group in OBSERVED:
        values = cfg.CONF.get(group, {})
        conf.register_opts(
            [
                KINDS.get(type(value), cfg.StrOpt)(name, default=value)
                for name, value in values.items()
            ],
            group,
        )
    conf([], project='placement_worker', default_config_files=[], default_config_dirs=[])
    return conf
