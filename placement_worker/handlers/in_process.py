"""Call the methods of the worker in this process, without a broker."""

import datetime
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec
from typing_extensions import override

from placement_worker.cloud.ports import Clouds
from placement_worker.contract import codec, rpc
from placement_worker.contract.caller import Caller, Context, check_callback, checked_context
from placement_worker.contract.model import CheckReply, CheckRequest, ReplyTo
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.handlers import in_process_casts
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.ports import CordonsInForce
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)
DESTINATIONS = Destinations(
    queues=[
        topic + suffix
        for topic in (rpc.TOPIC, rpc.SLOW_TOPIC)
        for suffix in ('', rpc.ISOLATION_SUFFIX, rpc.PARKING_SUFFIX)
    ]
)
"""The places for replies that a client refuses before it sends a request."""


class InProcessCaller(Caller):
    """A caller with a worker of its own, for commands and tests.

    It has the methods of `PolicyClient`, also those for casts. Only one thread may use it.
    """

    def __init__(
        self,
        clouds: Clouds,
        registry: Registry,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
        cordons: CordonsInForce | None = None,
    ) -> None:
        """Prepare the worker.

        :param now: returns the time of decisions, with its time zone, for tests.
        :param cordons: returns the cordons in force at a time, for each request; None for none.
        """
        self._registry = registry
        self._now = now
        self._cordons = cordons
        self._endpoints = Endpoints(clouds, registry, now=now, cordons=cordons)
        self._replies = in_process_casts.Replies()

    def over(self, clouds: Clouds) -> Self:
        """Return a caller with the same policy types, time and cordons over another cloud."""
        return type(self)(clouds, self._registry, self._now, self._cordons)

    def policy_check_decoded(self, request: CheckRequest) -> CheckReply:
        """Decide one check; its request was decoded from JSON, so its types are not checked."""
        reply: CheckReply = self._call_endpoint(rpc.POLICY_CHECK.name, request)
        return reply

    def cast_check(
        self,
        request: CheckRequest | Mapping[str, Any],
        reply_to: ReplyTo | Mapping[str, str] | None = None,
        context: Context | None = None,
    ) -> str:
        """Decide a check, and pass its reply or error to the callback that serves `reply_to`.

        Unlike `PolicyClient`, call the callback in this thread before the method returns, and
        raise its errors here. Without a callback, the reply waits for `serve_replies`.

        :returns: the `request_id` of the context, or a new one if the context has none.
        :raises InvalidRequest: the request, `reply_to` or the context does not fit the contract.
        """
        to = None if reply_to is None else codec.decode(reply_to, ReplyTo, at='$.reply_to')
        if to is not None:
            DESTINATIONS.check(to)
        prepared = self._prepared(request, CheckRequest)
        request_id = checked_context(context).get('request_id') or f'req-{uuid.uuid4()}'
        try:
            reply: CheckReply | PlacementWorkerError = self.policy_check(prepared, context)
        except PlacementWorkerError as exc:
            reply = exc
        if to is not None:
            self._replies.add((to.exchange, to.topic), request_id, reply)
        return request_id

    def serve_replies(
        self, exchange: str, topic: str, callback: in_process_casts.Callback
    ) -> in_process_casts.Receiver:
        """Pass the replies to casts to a callback until the receiver is stopped.

        :param callback: takes the request id of the cast, and the reply or the error.
        :returns: a context manager that stops the receiver; `stop` does the same.
        :raises InvalidRequest: workers refuse to reply to that exchange or topic, or the callback
            cannot be called.
        """
        check_callback(callback)
        DESTINATIONS.check(
            codec.decode({'exchange': exchange, 'topic': topic, 'method': 'any'}, ReplyTo, at='$')
        )
        return self._replies.serve((exchange, topic), callback)

    def close(self) -> None:
        """Do nothing: the worker has no connection."""

    @override
    def _send(self, method: str, request: object, context: Context) -> str:
        reply: str = self._call_endpoint(method, msgspec.json.encode(request).decode())
        return reply

    def _call_endpoint(self, method: str, request: str | CheckRequest) -> Any:
        call: Any = getattr(self._endpoints, method)
        try:
            return call(request)
        except PlacementWorkerError:
            raise
        except Exception as exc:
            LOG.debug('%s failed', method, exc_info=True)
            raise WorkerFailed(f'{method} failed: {with_notes(exc)}') from exc
