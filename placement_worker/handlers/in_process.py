"""A worker in this process, without a broker, for commands and for the tests of engines.

Replies to casts wait for a receiver, as on a broker, but in one thread: a test that expects a reply
fails at once instead of waiting for it.
"""

import datetime
import logging
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, Self

import msgspec
from typing_extensions import override

from placement_worker.cloud.ports import Clouds
from placement_worker.contract import rpc
from placement_worker.contract.caller import Callback, CastingCaller, Context, Receiver
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.handlers.decision_state import CordonsInForce
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)


class _Replies(Receiver):
    """The replies to casts at one place, in order, until its callback has taken them."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, CheckReply | PlacementWorkerError]] = deque()
        self._callback: Callback | None = None
        self._is_busy = False

    def add(self, request_id: str, reply: CheckReply | PlacementWorkerError) -> None:
        self._waiting.append((request_id, reply))
        self._pass_on()

    def serve(self, callback: Callback) -> Receiver:
        self._callback = callback
        self._pass_on()
        return self

    @override
    def stop(self) -> None:
        self._callback = None

    def _pass_on(self) -> None:
        if self._is_busy:  # a callback casts again; its reply follows after the callback
            return
        self._is_busy = True
        try:
            while self._waiting and self._callback:
                self._callback(*self._waiting[0])
                self._waiting.popleft()  # a callback that raises gets the reply again
        finally:
            self._is_busy = False


class InProcessCaller(CastingCaller):
    """A caller with a worker of its own, for commands and tests.

    Only one thread may use it. Unlike `PolicyClient`, `cast_check` calls the callback that serves
    `reply_to` in this thread before it returns, and raises the errors of the callback. Without a
    callback, the reply waits for `serve_replies`; to stop a receiver lets replies wait again.
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
        self._replies: defaultdict[tuple[str, str], _Replies] = defaultdict(_Replies)

    def over(self, clouds: Clouds) -> Self:
        return type(self)(clouds, self._registry, self._now, self._cordons)

    def policy_check_decoded(self, request: CheckRequest) -> CheckReply:
        """The types of the request are not checked, since it was decoded from JSON."""
        reply: CheckReply = self._call_endpoint(rpc.POLICY_CHECK.name, request)
        return reply

    def close(self) -> None:
        """Do nothing: the worker has no connection."""

    @override
    def _cast(self, request: CheckRequest, context: Context, request_id: str) -> None:
        try:
            reply: CheckReply | PlacementWorkerError = self.policy_check(request, context)
        except PlacementWorkerError as exc:
            reply = exc
        if request.reply_to is not None:
            place = request.reply_to.exchange, request.reply_to.topic
            self._replies[place].add(request_id, reply)

    @override
    def _receiver(self, exchange: str, topic: str, callback: Callback) -> Receiver:
        return self._replies[exchange, topic].serve(callback)

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
