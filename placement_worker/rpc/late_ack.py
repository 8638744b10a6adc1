"""An RPC server that acknowledges a request after its reply, so that none is lost when a worker dies.

The stock server of oslo.messaging acknowledges before it begins: what a killed worker had in hand is gone. This one
leaves a request with the broker until the reply is out; if the worker dies before, another one gets it. So a
request may be handled twice, never not at all. `get_rpc_server` takes the class as `server_cls`.

All of oslo.messaging's private names that this project uses are used here, and `tests/unit/rpc/test_late_ack.py` fails
when a release changes them. What they are for: a connection that listens, with consumers for the topic and for the
topic of this server alone; the message objects that know how to reply; the adapter whose thread polls.

Only that thread touches the connection, as kombu demands: acknowledging and giving back are put into a queue that it
empties, at the latest after `POLL_S`.
"""

import collections
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from oslo_messaging._drivers import amqp, amqpdriver, base, impl_rabbit
from oslo_messaging._drivers import common as driver_common
from oslo_messaging.rpc import server as rpc_server

from placement_worker.errors import RequestParked
from placement_worker.liveness import Pulse
from placement_worker.observing import Traffic, Unheard
from placement_worker.rpc.parking import RETRIED, Diversion

LOG = logging.getLogger(__name__)
POLL_S = 0.02  # how long an acknowledgement may wait for the thread that polls; idle, it costs 1 % of a CPU
ACKNOWLEDGED_S = 5  # how long to wait until the broker was told that a request was put aside
REMEMBERED = 4096  # requests that were finished here, in case one comes again because its acknowledgement was lost


class LateAckServer(rpc_server.RPCServer):
    """Acknowledges after the reply, on RabbitMQ; on other drivers it is the stock server."""

    def __init__(
        self,
        transport: Any,
        target: Any,
        dispatcher: Any,
        executor: str | None = None,
        diversion: Diversion | None = None,
        forward: Callable[[Any, str], None] | None = None,
        traffic: Traffic | None = None,
        putting_aside: AbstractContextManager[Any] | None = None,
        tell_parked: Callable[[dict[str, Any], dict[str, Any], RequestParked], None] | None = None,
    ) -> None:
        """Wire the server; `functools.partial` gives `get_rpc_server` what it does not know of.

        :param diversion: where requests go that come again and again; None: nowhere.
        :param forward: publishes a message to a queue, confirmed.
        :param traffic: hears of the requests; None: nobody does.
        :param putting_aside: shared by the servers of a process, and held until a request that was put aside is
            acknowledged: if the process met it again before that, and died of it, it would be put aside twice.
        :param tell_parked: tells who else waits, with message and context of a request that is parked; None: nobody.
        """
        super().__init__(transport, target, dispatcher, executor)
        self._diversion = diversion
        self._forward = forward
        self._traffic = traffic or Unheard()
        self._putting_aside = putting_aside or threading.Lock()
        self._tell_parked = tell_parked

    def _create_listener(self) -> Any:
        driver = self.transport._driver
        if not isinstance(driver, impl_rabbit.RabbitDriver):
            LOG.warning(
                'The driver of the transport is %s: requests are acknowledged BEFORE they are handled, and a worker '
                'that dies loses those it has in hand. Use rabbit:// in production.',
                type(driver).__name__,
            )
            return super()._create_listener()
        connection = driver._get_connection(driver_common.PURPOSE_LISTEN)
        listener = LateAckListener(driver, connection, traffic=self._traffic)
        for topic in (self._target.topic, f'{self._target.topic}.{self._target.server}'):
            connection.declare_topic_consumer(
                exchange_name=driver._get_exchange(self._target),
                topic=topic,
                callback=listener,
            )
        return base.PollStyleListenerAdapter(listener, batch_size=1, batch_timeout=None)

    def _process_incoming(self, incoming: list[Any]) -> None:
        """Handle one request, in a thread of the pool, and settle it whatever happens."""
        (request,) = incoming
        if not isinstance(request, LateAckRequest):
            super()._process_incoming(incoming)
            return
        if not request.begin():
            return
        if self._diversion and self._forward and request.deliveries > self._diversion.deliveries:
            message, context = request.message, request.ctxt
            with self._putting_aside:
                parked = self._divert(request, self._diversion, self._forward)
            if parked and self._tell_parked:  # not before: whoever dies of looking at it must not park it again
                try:
                    self._tell_parked(message, context, parked)
                except Exception:
                    LOG.exception('Nobody but its caller is told that request %s is parked', request.key)
            return
        if self._diversion and self._diversion.parks:
            with self._putting_aside:
                pass
        try:
            if not self._is_served(request.message):
                request.client_timeout = None  # the dispatcher would send heartbeats for it for ever
            super()._process_incoming(incoming)
        except BaseException:  # SystemExit from an endpoint, say: it would come back, and end the next worker too
            LOG.exception('A request ended its handler; the caller is told')
            request.reply(failure=sys.exc_info())
        finally:
            request.finish()

    def _divert(
        self, request: 'LateAckRequest', diversion: Diversion, forward: Callable[[Any, str], None]
    ) -> RequestParked | None:
        """Put a request aside that was delivered too often, and if nobody handles it there, tell its caller.

        :returns: what the caller was told.
        """
        parked = None
        LOG.warning(
            'Request %s was given up %d times and goes to %s', request.key, request.deliveries, diversion.queue
        )
        try:
            forward(request.delivery._raw_message, diversion.queue)
            self._traffic.put_aside(diversion.parks)
            if diversion.parks:
                parked = RequestParked(
                    f'The workers that took the request died or gave it up; it is parked in {diversion.queue}.'
                )
                request.reply(failure=(RequestParked, parked, None))
        except Exception:
            LOG.exception('Request %s could not be put aside', request.key)
            request.leave()
            return None
        request.finish().wait(ACKNOWLEDGED_S)
        return parked

    def _is_served(self, message: dict[str, Any]) -> bool:
        """Whether the dispatcher will find a method for it; it will not where looking for one raises."""
        find, method = self.dispatcher, message.get('method')
        if not isinstance(method, str):
            return False
        try:
            return any(
                find._is_namespace(target, message.get('namespace'))
                and find._is_compatible(target, message.get('version', '1.0'))
                and find.access_policy.is_allowed(endpoint, method)
                for endpoint in find.endpoints
                for target in [getattr(endpoint, 'target', None) or find._default_target]
            )
        except Exception:  # the version is none: it is the dispatcher that tells the caller
            return False


def pulse(server: Any) -> Pulse | None:
    """When an RPC server last polled, and since when its oldest request is in work; None before it listens.

    The stock server does not tell: it is taken to have polled just now, and to have nothing in work.
    """
    if server.listener is None:
        return None
    listener = getattr(server.listener, '_poll_style_listener', None)
    if not isinstance(listener, LateAckListener):
        return Pulse(time.monotonic(), None)
    return Pulse(listener.polled_at, listener.in_work.oldest())


class InWork:
    """Since when requests are in work: a thread has begun them, and their reply is not out."""

    def __init__(self, monotonic: Callable[[], float], traffic: Traffic) -> None:
        self._monotonic = monotonic
        self._traffic = traffic
        self._lock = threading.Lock()
        self._begun: dict[object, float] = {}

    def add(self, key: object) -> None:
        """A thread begins."""
        with self._lock:
            self._begun[key] = self._monotonic()
        self._traffic.begun()

    def remove(self, key: object) -> None:
        """The reply is out, or cannot be sent."""
        with self._lock:
            self._begun.pop(key, None)
        self._traffic.ended()

    def oldest(self) -> float | None:
        """When the one that is in work for longest was begun; the clock is monotonic, so it is the first."""
        with self._lock:
            return next(iter(self._begun.values()), None)


class LateAckRequest(amqpdriver.AMQPIncomingMessage):
    """A request in hand: waiting, begun, or given back.

    `delivery` is the message as the broker last delivered it, which is the one to settle.
    """

    def __init__(self, listener: 'LateAckListener', delivery: Any, key: object, context: Any) -> None:
        super().__init__(
            listener,
            context.to_dict(),
            delivery,
            key,
            context.msg_id,
            context.reply_q,
            context.client_timeout,
            listener.obsolete_reply_queues,
            listener,
        )
        self.delivery = delivery
        self.key = key
        self.deliveries = _deliveries(delivery)
        self._lock = threading.Lock()
        self._waiting = True

    def acknowledge(self) -> None:
        """Not yet: the stock server calls this before it begins."""

    def begin(self) -> bool:
        """Start to work on it, unless it was given back meanwhile."""
        begun = self._leave_waiting()
        if begun:
            self.listener.in_work.add(self.key)
        return begun

    def give_back(self) -> bool:
        """Leave it to another worker, unless it was begun meanwhile. In the polling thread."""
        given = self._leave_waiting()
        if given:
            self.listener.give_back(self)
        return given

    def finish(self) -> threading.Event:
        """The reply is out: acknowledge, with the next turn of the polling thread.

        :returns: is set then.
        """
        self.listener.in_work.remove(self.key)
        done = threading.Event()

        def settle() -> None:
            self.listener.acknowledge(self)
            done.set()

        self.listener.do(settle)
        return done

    def leave(self) -> None:
        """Somebody else has to have it: give it back, with the next turn of the polling thread."""
        self.listener.in_work.remove(self.key)
        self.listener.do(lambda: self.listener.give_back(self))

    def forget(self) -> None:
        """Let go of the message: the threads that had it remember it until the next one comes, and it may be large."""
        self.delivery = None
        self.message: dict[str, Any] = {}

    def _leave_waiting(self) -> bool:
        with self._lock:
            waited, self._waiting = self._waiting, False
        return waited


class LateAckListener(base.PollStyleListener):
    """Takes deliveries of one connection and settles them when told.

    All but `do` and `in_work` belongs to the polling thread; others may read `polled_at`.
    """

    def __init__(
        self,
        driver: Any,
        connection: Any,
        monotonic: Callable[[], float] = time.monotonic,
        traffic: Traffic | None = None,
    ) -> None:
        super().__init__(driver.prefetch_size)
        self.driver = driver
        self.obsolete_reply_queues = amqpdriver.ObsoleteReplyQueuesCache()
        self._traffic = traffic or Unheard()
        self.in_work = InWork(monotonic, self._traffic)
        self.polled_at = monotonic()
        self._monotonic = monotonic
        self._connection = connection
        self._arrived: collections.deque[LateAckRequest] = collections.deque()
        self._in_hand: dict[object, LateAckRequest] = {}
        self._finished: dict[object, None] = {}
        self._operations: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = threading.Event()

    def __call__(self, delivery: Any) -> None:
        """Take a delivery; the driver rejects it for good if this raises."""
        redelivered = bool(delivery._raw_message.delivery_info.get('redelivered'))
        unique_id = delivery.pop(amqp.UNIQUE_ID, None)
        if not isinstance(unique_id, str | None):
            raise ValueError('Expected a string for the unique id of a request')
        if unique_id is not None:
            unique_id += delivery._raw_message.headers.get(RETRIED, '')
        if redelivered:
            LOG.info('Request %s is delivered again', unique_id)
            self._traffic.redelivered()
        if unique_id is not None and self._is_known(unique_id, delivery):
            return
        key = object() if unique_id is None else unique_id
        request = LateAckRequest(self, delivery, key, amqp.unpack_context(delivery))
        self._in_hand[key] = request
        self._arrived.append(request)

    def poll(
        self, timeout: float | None = None, batch_size: int = 1, batch_timeout: float | None = None
    ) -> list[LateAckRequest]:
        """Wait for a request; none when stopped, and all that was begun is settled."""
        while True:
            self.polled_at = self._monotonic()
            self._operate()
            if self._stopping.is_set():
                self._take_no_more()
                if not self._in_hand:
                    return []
            elif self._arrived:
                return [self._arrived.popleft()]
            try:
                self._connection.consume(timeout=POLL_S)
            except driver_common.Timeout:
                continue

    def stop(self) -> None:
        """Take no more, give back what nobody has begun, go on until the rest is settled."""
        self._stopping.set()

    def cleanup(self) -> None:
        """Close the connection."""
        self._connection.close()

    def do(self, operation: Callable[[], None]) -> None:
        """Have something done in the polling thread."""
        self._operations.put(operation)

    def acknowledge(self, request: LateAckRequest) -> None:
        """Tell the broker that a request is done, and remember that: if it does not hear, it comes again."""
        self._finished[request.key] = None
        if len(self._finished) > REMEMBERED:
            del self._finished[next(iter(self._finished))]
        self._settle(request, request.delivery.acknowledge)

    def give_back(self, request: LateAckRequest) -> None:
        """Have the broker deliver a request to somebody else."""
        self._settle(request, request.delivery.requeue)

    def _settle(self, request: LateAckRequest, how: Callable[[], None]) -> None:
        del self._in_hand[request.key]
        try:
            how()
        except Exception as exc:  # whatever a lost connection raises
            LOG.warning('Request %s could not be settled and will be delivered again: %s', request.key, exc)
        request.forget()

    def _is_known(self, unique_id: str, delivery: Any) -> bool:
        """Whether it is here already: in hand, then the new delivery is the one to settle, or finished."""
        request = self._in_hand.get(unique_id)
        if request is not None and not _on_same_channel(request.delivery, delivery):
            request.delivery = delivery
            return True
        if request is not None or unique_id in self._finished:
            LOG.info('Request %s is or was handled here: dropped', unique_id)
            delivery.acknowledge()
            return True
        return False

    def _operate(self) -> None:
        while True:
            try:
                operation = self._operations.get_nowait()
            except queue.Empty:
                return
            operation()

    def _take_no_more(self) -> None:
        """Cancel the consumers, for good also if the connection is made anew, and give back what waits."""
        consumers = dict(self._connection._consumers)
        self._connection._consumers.clear()
        for consumer, tag in consumers.items():
            try:
                consumer.cancel(tag)
            except Exception as exc:  # a lost connection has no consumers
                LOG.warning('A consumer could not be cancelled: %s', exc)
        self._arrived.clear()
        for request in list(self._in_hand.values()):
            if request.give_back():
                LOG.info('Request %s is left to another worker', request.key)


def _deliveries(delivery: Any) -> int:
    """How often the broker has delivered a request before, without hearing that it is done."""
    count = delivery._raw_message.headers.get('x-delivery-count', 0)
    return count if isinstance(count, int) else 0


def _on_same_channel(one: Any, other: Any) -> bool:
    """Two deliveries on one channel are two messages; on another channel it is the same one again."""
    return one._raw_message.channel is other._raw_message.channel
