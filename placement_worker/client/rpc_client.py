"""How engines call running workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import oslo_messaging
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client import connection
from placement_worker.contract import codec
from placement_worker.contract.caller import Caller, Context, R, expiring
from placement_worker.contract.model import BindRequest, CheckRequest, ReplyTo
from placement_worker.contract.topics import EXCHANGE, SLOW_TOPIC, TOPIC, VERSION
from placement_worker.policies.load_balancing.policy import LoadBalancing

CONTEXT = ('request_id', 'global_request_id', 'user_id', 'project_id')
"""What is sent of the caller's context; engines keep passwords and tokens in theirs."""
RETRIES = 2
"""How often a request is sent again when the broker is away, before the caller is told."""
TIMEOUT_S, SLOW_TIMEOUT_S = 60.0, 600.0


@dataclass(frozen=True, slots=True)
class Route:
    """Which queue a request goes to, and how long its reply is waited for."""

    topic: str
    timeout_s: float
    server: str | None

    @property
    def queue(self) -> str:
        """The name of the queue."""
        return self.topic if self.server is None else f'{self.topic}.{self.server}'


def may_wait(request: object) -> bool:
    """Whether deciding the request may take as long as a load balancer does."""
    if isinstance(request, CheckRequest):
        handled = (request.target, request.action.action) in LoadBalancing.targets
        return handled and any(
            one.enabled and one.spec.type == LoadBalancing.name for one in request.policies
        )
    return isinstance(request, BindRequest)


class PolicyClient(Caller):
    """Calls running workers. It has a transport of its own and leaves the process's configuration
    alone.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        conf: cfg.ConfigOpts = cfg.CONF,
        exchange: str = EXCHANGE,
        topic: str = TOPIC,
        slow_topic: str = SLOW_TOPIC,
        server: str | None = None,
        timeout_s: float = TIMEOUT_S,
        slow_timeout_s: float = SLOW_TIMEOUT_S,
        version_cap: str | None = None,
    ) -> None:
        """Prepare; the broker is looked for on the first call.

        :param url: `rabbit://user:password@host:port/vhost`; None for `transport_url` of the
            configuration.
        :param server: the `[worker] host` of the one worker to call; None for any.
        :param timeout_s: how long a call waits for its reply.
        :param slow_timeout_s: the same for a request that may wait for a load balancer.
        :param version_cap: the highest version of the contract that the workers understand; a
            request that needs a higher one raises oslo.messaging's RPCVersionCapError.
        :raises ConfigurationError: the URL cannot be used.
        """
        self._conf = conf
        self._routes = {
            False: Route(topic, timeout_s, server),
            True: Route(slow_topic, slow_timeout_s, server),
        }
        self._address = connection.address(conf, url)
        self._transport = connection.connect(conf, self._address)
        self._reached = False
        self._client = oslo_messaging.get_rpc_client(
            self._transport,
            oslo_messaging.Target(exchange=exchange, server=server, version=VERSION),
            retry=RETRIES,
            version_cap=version_cap,
            transport_options=oslo_messaging.TransportOptions(at_least_once=True),
        )

    def cast_check(
        self,
        request: CheckRequest | Mapping[str, Any],
        reply_to: ReplyTo | Mapping[str, str] | None = None,
        context: Context | None = None,
    ) -> None:
        """Have a check decided without waiting: the worker casts its reply to `reply_to`.

        It calls `method(request_id, reply)` there, and on errors gives `{"error": {"type",
        "message"}}` for the reply.

        :raises NoWorkerAnswered: no worker has ever run on this broker, or the broker is away.
        """
        to = None if reply_to is None else codec.decode(reply_to, ReplyTo, at='$.reply_to')
        asked = msgspec.structs.replace(super()._prepared(request, CheckRequest), reply_to=to)
        self._reach()
        self._deliver('cast', 'policy_check', asked, context or {})

    def close(self) -> None:
        """Drop the connections."""
        self._transport.cleanup()

    def _prepared(self, request: R | Mapping[str, Any], kind: type[R]) -> R:
        prepared = super()._prepared(request, kind)
        return expiring(prepared, self._route(prepared).timeout_s)

    def _route(self, request: object) -> Route:
        return self._routes[may_wait(request)]

    def _send(self, method: str, request: object, context: Context) -> str:
        self._reach()
        try:
            answer: str = self._deliver('call', method, request, context)
        except errors.NoWorkerAnswered:
            raise
        except errors.PlacementWorkerError as exc:
            raise _local(exc) from None
        except oslo_messaging.MessagingTimeout as exc:
            route = self._route(request)
            raise errors.NoWorkerAnswered(
                f'No worker answered on topic {route.queue} within {route.timeout_s:g} s: is placement-worker running?'
            ) from exc
        except oslo_messaging.RemoteError as exc:
            raise errors.WorkerFailed(
                f'{method} failed in the worker: {exc.exc_type}: {exc.value}'
            ) from exc
        except oslo_messaging.MessagingException:
            raise
        except (
            Exception
        ) as exc:  # a fault in the worker: oslo.messaging makes built-in exceptions anew
            told = str(exc).partition('\n')[0]
            raise errors.WorkerFailed(
                f'{method} failed in the worker: {type(exc).__name__}: {told}'
            ) from exc
        return answer

    def _deliver(self, how: str, method: str, request: object, context: Context) -> Any:
        """Hand the request to the broker, as a `call` or a `cast`."""
        route = self._route(request)
        ids = {key: context[key] for key in CONTEXT if key in context}
        prepared = self._client.prepare(topic=route.topic, timeout=route.timeout_s)
        try:
            return getattr(prepared, how)(
                ids, method, request=msgspec.json.encode(request).decode()
            )
        except oslo_messaging.MessageUndeliverable as exc:
            who = (
                'placement-worker'
                if route.server is None
                else f'a worker with [worker] host = {route.server}'
            )
            raise errors.NoWorkerAnswered(
                f'There is no queue for topic {route.queue}: {who} has never run on this broker'
            ) from exc
        except oslo_messaging.MessageDeliveryFailure as exc:
            raise errors.BrokerUnreachable(f'The request could not be delivered: {exc}') from exc

    def _reach(self) -> None:
        """See that the broker is there before the first call, which has no other bound on waiting
        for it.
        """
        if not self._reached:
            connection.probe(self._conf, self._address)
            self._reached = True


def _local(remote: errors.PlacementWorkerError) -> errors.PlacementWorkerError:
    """The same error without the worker's traceback, which oslo.messaging puts into its text."""
    kind: type[errors.PlacementWorkerError] = next(
        kind for kind in type(remote).__mro__ if kind.__module__ == errors.__name__
    )
    return kind(*remote.args)
