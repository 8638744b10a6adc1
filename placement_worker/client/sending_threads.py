"""Threads that send requests, so that no caller waits longer than its timeout.

A broker that is short of memory or disk confirms nothing, but sends heartbeats. oslo.messaging 18.3
then waits without a bound, because its timeouts count from the last heartbeat.
"""

import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from typing_extensions import override

from placement_worker.errors import BrokerUnreachable

IDLE_S = 60
"""How long a thread waits for its next request."""
BLOCKED = (
    'The broker has confirmed no request in time: it blocks publishers while it is short of memory '
    'or disk; run "rabbitmq-diagnostics check_local_alarms"'
)

T = TypeVar('T')


class SendingThreads:
    """Idle threads that send the next requests; a request without one starts a thread."""

    def __init__(self) -> None:
        """Start without a thread."""
        self._idle: list[_SendingThread] = []
        self._unconfirmed: Future[Any] | None = None

    def run(self, send: Callable[[], T], timeout_s: float) -> T:
        """Call a function in another thread, and return its result within a timeout.

        The thread continues after the timeout, until the broker confirms. Until then, no other
        function is called.

        :raises BrokerUnreachable: the timeout has passed, or that of an earlier request has.
        """
        if self._unconfirmed is not None and not self._unconfirmed.done():
            raise BrokerUnreachable(BLOCKED)
        sent: Future[T] = Future()
        context = contextvars.copy_context()  # it has the span of the caller
        self._take().call(lambda: context.run(send), sent)
        try:
            return sent.result(timeout_s)
        except TimeoutError:
            if sent.done():  # the error of the function, or a result that has just arrived
                return sent.result()
            self._unconfirmed = sent
            raise BrokerUnreachable(BLOCKED) from None

    def _take(self) -> '_SendingThread':
        """Return an idle thread, or else a new one."""
        while self._idle:
            try:
                thread = self._idle.pop()
            except IndexError:  # another caller took it
                break
            if thread.is_alive():  # it is not in the child after a fork
                return thread
        return _SendingThread(self._idle)


class _SendingThread(threading.Thread):
    """A thread that calls one function after another, and ends when it has been idle for long."""

    def __init__(self, idle: 'list[_SendingThread]') -> None:
        super().__init__(name='policy-request', daemon=True)
        self._idle = idle
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.start()

    def call(self, function: Callable[[], T], called: Future[T]) -> None:
        """Call a function in this thread; the future gets its result or its error."""
        self._calls.put((function, called))

    @override
    def run(self) -> None:
        while True:
            try:
                function, called = self._calls.get(timeout=IDLE_S)
            except queue.Empty:
                try:
                    self._idle.remove(self)
                except ValueError:  # a caller has taken this thread, and is about to use it
                    continue
                return
            try:
                result = function()
            except BaseException as exc:  # the caller gets it
                self._idle.append(self)
                called.set_exception(exc)
            else:
                self._idle.append(self)
                called.set_result(result)
                del result
            del function, called
