"""A worker in this process, without a broker, for commands and for the tests of engines.

Replies to casts wait for a receiver, as on a broker, but in one thread: a test that expects a reply
fails at once instead of waiting for it.
"""

import datetime
import logging
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec
from typing_extensions import override

from placement_worker.cloud.ports import Clouds
from placement_worker.contract import codec, rpc
from placement_worker.contract.caller import Caller, Context, check_callback, checked_context
from placement_worker.contract.model import CheckReply, CheckRequest, ReplyTo
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.handlers.decision_state import CordonsInForce
from placement_worker.handlers.reply_delivery import Destinations
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)

# The exchange and the topic of replies.
_Place = tuple[str, str]
# A function that takes the request id of a cast, and its reply or error.
Callback = Callable[[str, CheckReply | PlacementWorkerError], object]


class _Replies:
    """The replies to casts, in order, until the callback of their place has taken them."""

    def __init__(self) -> None:
        self._waiting: defaultdict[_Place, deque[tuple[str, CheckReply | PlacementWorkerError]]] = (
            defaultdict(deque)
        )
        self._callbacks: dict[_Place, Callback] = {}
        self._busy: set[_Place] = set()

    def add(self, place: _Place, request_id: str, reply: CheckReply | PlacementWorkerError) -> None:
        self._waiting[place].append((request_id, reply))
        self._pass_on(place)

    def serve(self, place: _Place, callback: Callback) -> 'Receiver':
        self._callbacks[place] = callback
        receiver = Receiver(lambda: self._callbacks.pop(place, None))
        self._pass_on(place)
        return receiver

    def _pass_on(self, place: _Place) -> None:
        if place in self._busy:  # a callback casts again; its reply follows after the callback
            return
        waiting = self._waiting[place]
        self._busy.add(place)
        try:
            while waiting and (callback := self._callbacks.get(place)):
                callback(*waiting[0])
                waiting.popleft()  # a callback that raises gets the reply again
        finally:
            self._busy.remove(place)


class Receiver:
    """The end of a callback: a context manager that stops at the end of the block."""

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Pass no more replies; they wait for another callback."""
        self._stop()


# The places for replies that a client refuses before it sends a request.
_DESTINATIONS = Destinations(
    queues=[
        topic + suffix
        for topic in (rpc.TOPIC, rpc.SLOW_TOPIC)
        for suffix in ('', rpc.ISOLATION_SUFFIX, rpc.PARKING_SUFFIX)
    ]
)


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
        """`now` returns the time of decisions, with its time zone; tests set it."""
        self._registry = registry
        self._now = now
        self._cordons = cordons
        self._endpoints = Endpoints(clouds, registry, WorkerSettings(now=now, cordons=cordons))
        self._replies = _Replies()

    def over(self, clouds: Clouds) -> Self:
        return type(self)(clouds, self._registry, self._now, self._cordons)

    def policy_check_decoded(self, request: CheckRequest) -> CheckReply:
        """The types of the request are not checked, since it was decoded from JSON."""
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
            _DESTINATIONS.check(to)
        prepared = self._prepared(request, CheckRequest)
        request_id = checked_context(context).get('request_id') or f'req-{uuid.uuid4()}'
        try:
            reply: CheckReply | PlacementWorkerError = self.policy_check(prepared, context)
        except PlacementWorkerError as exc:
            reply = exc
        if to is not None:
            self._replies.add((to.exchange, to.topic), request_id, reply)
        return request_id

    def serve_replies(self, exchange: str, topic: str, callback: Callback) -> Receiver:
        """Pass the replies to casts to a callback until the receiver is stopped.

        :raises InvalidRequest: workers refuse to reply to that exchange or topic, or the callback
            cannot be called.
        """
        check_callback(callback)
        _DESTINATIONS.check(
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
