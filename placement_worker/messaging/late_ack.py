"""An RPC server that acknowledges a request after its reply, so that none is lost when a worker
dies.

The stock server of oslo.messaging acknowledges before it begins: what a killed worker had in hand
is gone. This one leaves a request with the broker until the reply is out; if the worker dies
before, another one gets it. So a request may be handled twice, never not at all. `get_rpc_server`
takes the class as `server_cls`.

All of oslo.messaging's private names that this project uses are used here, and
`tests/unit/rpc/test_late_ack.py` fails when a release changes them. What they are for: a connection
that listens, with consumers for the topic and for the topic of this server alone; the message
objects that know how to reply; the adapter whose thread polls.

Only that thread touches the connection, as kombu demands: acknowledging and giving back are put
into a queue, and the thread is woken to empty it. It also reconnects: oslo.messaging's own
reconnection in `consume` gives up when the timeout of `consume` has passed, before it has tried
every host.
"""

import collections
import contextlib
import logging
import os
import queue
import random
import select
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
from placement_worker.events.listener import Listener, Listeners
from placement_worker.events.types import (
    RequestBegun,
    RequestEnded,
    RequestMoved,
    RequestRedelivered,
)
from placement_worker.health.heartbeats import Heartbeat
from placement_worker.messaging.parking import RETRIED, Diversion
from placement_worker.messaging.replies import Replies, ReplyPending, in_message

LOG = logging.getLogger(__name__)
# the longest wait of the polling thread, a quarter of the heartbeat; operations and deliveries wake
# it
POLL_S = 3.0
DRAIN_S = 0.02  # the longest wait for the rest of a frame that has begun to arrive
STOPPING_PAUSE_S = 0.02  # between two looks for the end of requests in flight, without a connection
RECONNECT_PAUSE_S = (
    0.5  # between two attempts; doubled at random, so that workers do not return all at once
)
ANSWER_S = 10  # the longest wait for a byte of the broker while queues are declared
WARN_DISCONNECTED_S = 30  # the period of warnings while no host of the broker answers
GOODBYE_S = 2  # the longest wait for the answer of the broker when the connection is closed
BIND_S = 7  # the period of binding the queues again, in case the exchange was deleted
MOVE_AGAIN_S = 300  # the pause after a request could not be moved to another queue
ACKNOWLEDGED_S = 5  # how long to wait until the broker was told that a request was put aside
REPLY_QUEUES = 'reply_'  # how oslo.messaging names all reply queues
# requests that were finished here, in case one comes again because its acknowledgement was lost
REMEMBERED = 4096


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
        events: Listener | None = None,
        putting_aside: AbstractContextManager[Any] | None = None,
        tell_parked: Callable[[dict[str, Any], dict[str, Any], RequestParked], None] | None = None,
        replies: Replies | None = None,
    ) -> None:
        """Wire the server; `functools.partial` gives `get_rpc_server` what it does not know of.

        :param diversion: where requests go that come again and again; None: nowhere.
        :param forward: publishes a message to a queue, confirmed.
        :param events: the listener for the events of requests.
        :param putting_aside: shared by the servers of a process, and held until a request that was
            put aside is acknowledged: if the process met it again before that, and died of it, it
            would be put aside twice.
        :param tell_parked: tells who else waits, with message and context of a request that is
            parked; None: nobody.
        :param replies: sends the replies to calls; None: the driver does, without a bound.
        """
        super().__init__(transport, target, dispatcher, executor)
        self._diversion = diversion
        self._forward = forward
        self._events = events or Listeners()
        self._putting_aside = putting_aside or threading.Lock()
        self._tell_parked = tell_parked
        self._replies = replies

    def _create_listener(self) -> Any:
        driver = self.transport._driver
        if not isinstance(driver, impl_rabbit.RabbitDriver):
            LOG.warning(
                'The driver of the transport is %s: requests are acknowledged BEFORE they are handled, and a worker '
                'that dies loses those it has in hand. Use rabbit:// in production.',
                type(driver).__name__,
            )
            return super()._create_listener()
        connection = ListenConnection(driver._get_connection(driver_common.PURPOSE_LISTEN))
        listener = LateAckListener(
            driver,
            connection,
            events=self._events,
            topic=self._target.topic,
            replies=self._replies,
        )
        for topic in (self._target.topic, f'{self._target.topic}.{self._target.server}'):
            connection.add_consumer(driver._get_exchange(self._target), topic, listener)
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
            self._put_aside(request, self._diversion, self._forward)
            return
        if self._diversion and self._diversion.parks:
            with self._putting_aside:
                pass
        settle: Callable[[], object] = request.finish
        try:
            self._handle(request)
        except ReplyPending as exc:
            LOG.warning(
                'Request %s is given back, since its reply did not go out: %s', request.key, exc
            )
            settle = request.leave
        finally:
            settle()

    def _handle(self, request: 'LateAckRequest') -> None:
        """Have a request decided, and reply.

        :raises ReplyPending: the reply did not go out, but may later.
        """
        try:
            if not self._is_served(request.message):
                request.client_timeout = (
                    None  # the dispatcher would send heartbeats for it for ever
                )
            super()._process_incoming([request])
        except ReplyPending:
            raise
        except (
            BaseException
        ):  # SystemExit from an endpoint, say: it would come back, and end the next worker too
            LOG.exception('A request ended its handler; the caller is told')
            request.reply(failure=sys.exc_info())

    def _put_aside(
        self, request: 'LateAckRequest', diversion: Diversion, forward: Callable[[Any, str], None]
    ) -> None:
        """Move a request that was delivered too often to another queue; if it is parked there,
        report that.

        After a failure the request is given back, but not at once: the broker counts that as a
        delivery, and drops a request whose count exceeds the delivery limit of the queue.
        """
        message, context = request.message, request.ctxt
        LOG.warning(
            'Request %s was redelivered %d times; moving it to %s',
            request.key,
            request.deliveries,
            diversion.queue,
        )
        try:
            with self._putting_aside:
                parked = self._move(request, diversion, forward)
        except Exception:
            LOG.exception('Failed to move request %s; retrying in %d s', request.key, MOVE_AGAIN_S)
            request.listener.pause(MOVE_AGAIN_S)
            request.leave()
            return
        if (
            parked and self._tell_parked
        ):  # not before: a request that kills the process must not be parked twice
            try:
                self._tell_parked(message, context, parked)
            except (Exception, ReplyPending):
                LOG.exception(
                    'Failed to report to its reply_to that request %s is parked', request.key
                )

    def _move(
        self, request: 'LateAckRequest', diversion: Diversion, forward: Callable[[Any, str], None]
    ) -> RequestParked | None:
        """Move a request to another queue, and acknowledge it.

        :returns: the error that its caller got, or None if it is not parked.
        """
        forward(request.delivery._raw_message, diversion.queue)
        self._events.handle(RequestMoved(self._target.topic, diversion.parks))
        parked = None
        if diversion.parks:
            parked = RequestParked(
                f'The workers that took the request died or gave it up; it is parked in {diversion.queue}.'
            )
            try:
                request.reply(failure=(RequestParked, parked, None))
            except (Exception, ReplyPending):  # it is parked: given back, it would be parked twice
                LOG.exception(
                    'Failed to report to its caller that request %s is parked', request.key
                )
        request.finish().wait(ACKNOWLEDGED_S)
        return parked

    def _is_served(self, message: dict[str, Any]) -> bool:
        """Whether the dispatcher will find a method for it; it will not where looking for one
        raises.
        """
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


def heartbeat(server: Any) -> Heartbeat | None:
    """Return the heartbeat of an RPC server, or None before it listens.

    The stock server reports none: it counts as connected, as polling now, and as idle.
    """
    if server.listener is None:
        return None
    listener = getattr(server.listener, '_poll_style_listener', None)
    if not isinstance(listener, LateAckListener):
        return Heartbeat(time.monotonic(), None, None)
    return Heartbeat(listener.polled_at, listener.in_work.oldest(), listener.disconnected_at)


class InWork:
    """Since when requests are in work: a thread has begun them, and their reply is not out."""

    def __init__(self, monotonic: Callable[[], float], events: Listener, topic: str) -> None:
        self._monotonic = monotonic
        self._events = events
        self._topic = topic
        self._lock = threading.Lock()
        self._begun: dict[object, float] = {}

    def add(self, key: object) -> None:
        """A thread begins."""
        with self._lock:
            self._begun[key] = self._monotonic()
        self._events.handle(RequestBegun(self._topic))

    def remove(self, key: object) -> None:
        """The reply is out, or cannot be sent."""
        with self._lock:
            self._begun.pop(key, None)
        self._events.handle(RequestEnded(self._topic))

    def oldest(self) -> float | None:
        """When the one that is in work for longest was begun; the clock is monotonic, so it is the
        first.
        """
        with self._lock:
            return next(iter(self._begun.values()), None)


class LateAckRequest(amqpdriver.AMQPIncomingMessage):
    """A request in hand: waiting, begun, or given back.

    `delivery` is the message as the broker last delivered it, which is the one to settle.
    """

    def __init__(
        self, listener: 'LateAckListener', delivery: Any, key: object, context: Any
    ) -> None:
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

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Reply to a call, within the bounds of `Replies`.

        :raises ReplyPending: the reply did not go out, but may later.
        """
        if self.listener.replies is None:
            super().reply(reply, failure)
        elif self._has_reply_queue():
            message = self._reply_message(reply, failure, ending=True)
            what = f'the reply to call {self.msg_id!r} (default exchange, reply queue {self.reply_q!r})'
            self.listener.replies.send(what, message, '', self.reply_q)
        elif self.msg_id:
            LOG.warning(
                'Dropped the reply to call %r: expected a reply queue named %s..., got %.80r',
                self.msg_id,
                REPLY_QUEUES,
                self.reply_q,
            )

    def heartbeat(self) -> None:
        """Tell the caller that the call is in progress; the dispatcher logs what this raises, and
        goes on.
        """
        if self.listener.replies is None:
            super().heartbeat()
        elif self._has_reply_queue():
            self.listener.replies.try_once(
                self._reply_message(None, None, ending=False), '', self.reply_q
            )

    def _has_reply_queue(self) -> bool:
        """Return whether a caller waits at a reply queue; no other queue may get a reply from the
        worker.
        """
        return (
            bool(self.msg_id)
            and isinstance(self.reply_q, str)
            and self.reply_q.startswith(REPLY_QUEUES)
        )

    def _reply_message(self, reply: Any, failure: Any, *, ending: bool) -> Any:
        serialized = driver_common.serialize_remote_exception(failure) if failure else None
        message = {'result': reply, 'failure': serialized, 'ending': ending, '_msg_id': self.msg_id}
        amqp._add_unique_id(message)
        return in_message(driver_common.serialize_msg(message))

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
        """Let go of the message: the threads that had it remember it until the next one comes, and
        it may be large.
        """
        self.delivery = None
        self.message: dict[str, Any] = {}

    def _leave_waiting(self) -> bool:
        with self._lock:
            waited, self._waiting = self._waiting, False
        return waited


class ListenConnection:
    """A connection of the driver that consumes, and that reconnects to one host of the broker at a
    time.

    It replaces `consume` of the driver's connection. That cannot be woken, and its way of
    reconnecting cannot be bounded: within a short timeout it never leaves a dead host, and within a
    long one it neither stops nor reports. Any error of the connection or of its channel loses the
    connection: the broker then requeues what was not acknowledged.

    :param context: of the driver, for listening.
    """

    def __init__(self, context: Any, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._connection = context.connection
        self._connection.max_retries = 0  # one attempt per `reconnect`
        self._amqp.transport_options['read_timeout'] = (
            ANSWER_S  # the driver sets its own only after declaring
        )
        self._monotonic = monotonic
        self._consumes = False
        self._bound_at = monotonic()
        self._lock = threading.Lock()
        self._is_closed = False
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._ready: Any = None

    @property
    def is_connected(self) -> bool:
        """Whether no error was seen since the broker was last reached."""
        return bool(self._amqp.connected)

    @property
    def host(self) -> str:
        """The host that is connected to, or tried next."""
        return f'{self._amqp.hostname}:{self._amqp.port}'

    @property
    def _amqp(self) -> Any:
        """The connection of kombu."""
        return self._connection.connection

    def add_consumer(self, exchange: str, topic: str, callback: Callable[[Any], None]) -> None:
        """Declare exchange and queue of a topic; the next `wait` begins to consume it."""
        self._connection.declare_topic_consumer(
            exchange_name=exchange, topic=topic, callback=callback
        )

    def wake(self) -> None:
        """End the `wait` of the other thread, or its next one."""
        with self._lock:  # a closed descriptor may be that of another file by now
            if not self._is_closed:
                with contextlib.suppress(BlockingIOError):  # the pipe is full: the thread will wake
                    os.write(self._waker, b'.')

    def wait(self, timeout_s: float) -> None:
        """Wait until woken or until something arrives; deliveries reach the callback of their
        consumer.

        :raises Exception: of kombu, py-amqp or the socket: the connection is lost.
        """
        try:
            if not self._consumes:
                self._consume()
            elif self._monotonic() - self._bound_at > BIND_S:
                self._bind()
            if self._has_input(timeout_s):
                self._drain()
            if self._connection._heartbeat_supported_and_enabled():
                self._connection._heartbeat_check()
        except Exception:
            self._lose()
            raise

    def reconnect(self) -> None:
        """Connect to one host and consume again; after an error the next call tries the next host.

        :raises Exception: of kombu, py-amqp or the socket: the host does not serve.
        """
        # an acknowledgement that could not be written closes the connection outside of `wait`
        self._lose()
        try:
            self._connection.ensure_connection()
            self._consume()
        except Exception:
            self._lose()
            self._amqp.maybe_switch_next()
            raise

    def cancel_consumers(self) -> None:
        """Receive no further deliveries, not even after reconnecting."""
        tags = list(self._connection._consumers.values())
        self._connection._consumers.clear()
        for tag in tags:
            try:
                self._connection.channel.basic_cancel(str(tag), nowait=True)
            except Exception as exc:  # a lost connection has no consumers
                LOG.warning('Failed to cancel a consumer: %s', exc)

    def close(self) -> None:
        """Close the connection; a broker that does not answer delays that by `GOODBYE_S`."""
        if self.is_connected:
            self._amqp.connection.sock.settimeout(GOODBYE_S)
        try:
            self._context.close()
        finally:
            with self._lock:
                self._is_closed = True
                os.close(self._woken)
                os.close(self._waker)

    def _consume(self) -> None:
        for consumer, tag in self._connection._consumers.items():
            consumer.consume(self._connection, tag=tag)
        self._ready = select.poll()
        self._ready.register(self._woken, select.POLLIN)
        self._ready.register(self._amqp.connection.sock, select.POLLIN)
        self._consumes, self._bound_at = True, self._monotonic()

    def _bind(self) -> None:
        """Bind the queues again: a deleted exchange takes the bindings along, and consumers get no
        notice of that.

        Nothing is waited for. If the exchange is missing, the broker closes the channel, and the
        connection is lost; reconnecting declares everything.
        """
        for consumer in self._connection._consumers:
            consumer.queue.queue_bind(nowait=True)
        self._bound_at = self._monotonic()

    def _has_input(self, timeout_s: float) -> bool:
        """Wait for input of the broker, unless woken before."""
        pending = getattr(
            self._amqp.connection.sock, 'pending', None
        )  # TLS may hold decrypted input back
        if pending is not None and pending():
            return True
        found = [file for file, _ in self._ready.poll(timeout_s * 1000)]
        if self._woken in found:
            os.read(self._woken, select.PIPE_BUF)
        return found not in ([], [self._woken])

    def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            self._amqp.drain_events(timeout=DRAIN_S)

    def _lose(self) -> None:
        """Drop the socket without a goodbye, for which a dead host would let this thread wait."""
        self._consumes = False
        if self.is_connected:
            self._amqp.connection.sock.settimeout(0)  # py-amqp 5.4.2 waits for the peer to end TLS
        self._amqp.collect()


class LateAckListener(base.PollStyleListener):
    """Takes deliveries of one connection and settles them when told.

    All but `do` and `in_work` belongs to the polling thread; others may read `polled_at` and
    `disconnected_at`.
    """

    def __init__(
        self,
        driver: Any,
        connection: ListenConnection,
        monotonic: Callable[[], float] = time.monotonic,
        events: Listener | None = None,
        topic: str = '',
        replies: Replies | None = None,
    ) -> None:
        super().__init__(driver.prefetch_size)
        self.driver = driver
        self.replies = replies
        self.obsolete_reply_queues = amqpdriver.ObsoleteReplyQueuesCache()
        self._events = events or Listeners()
        self._topic = topic
        self.in_work = InWork(monotonic, self._events, topic)
        self.polled_at = monotonic()
        self.disconnected_at: float | None = None
        self._warned_at = 0.0
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
            self._events.handle(RequestRedelivered(self._topic))
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
            self._wait()

    def pause(self, seconds: float) -> None:
        """Wait, in any thread, for some seconds or until the listener stops."""
        self._stopping.wait(seconds)

    def stop(self) -> None:
        """Take no more, give back what nobody has begun, go on until the rest is settled."""
        self._stopping.set()
        self._connection.wake()

    def cleanup(self) -> None:
        """Close the connection."""
        self._connection.close()

    def do(self, operation: Callable[[], None]) -> None:
        """Have something done in the polling thread."""
        self._operations.put(operation)
        self._connection.wake()

    def acknowledge(self, request: LateAckRequest) -> None:
        """Tell the broker that a request is done, and remember that: if it does not hear, it comes
        again.
        """
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
            LOG.warning(
                'Request %s could not be settled and will be delivered again: %s', request.key, exc
            )
        request.forget()

    def _is_known(self, unique_id: str, delivery: Any) -> bool:
        """Whether it is here already: in hand, then the new delivery is the one to settle, or
        finished.
        """
        request = self._in_hand.get(unique_id)
        if request is not None and not _on_same_channel(request.delivery, delivery):
            request.delivery = delivery
            return True
        if request is not None or unique_id in self._finished:
            LOG.info('Request %s is or was handled here: dropped', unique_id)
            delivery.acknowledge()
            return True
        return False

    def _wait(self) -> None:
        """Wait for a delivery or an operation, or try to reconnect: a few seconds at most."""
        if self._connection.is_connected:
            try:
                self._connection.wait(POLL_S)
            except Exception as exc:
                LOG.warning(
                    'Lost the connection to the broker at %s: %s', self._connection.host, exc
                )
                self.disconnected_at = self._warned_at = self._monotonic()
        elif (
            self._stopping.is_set()
        ):  # the broker has requeued everything; a new connection could settle nothing
            time.sleep(STOPPING_PAUSE_S)
        else:
            self._reconnect()

    def _reconnect(self) -> None:
        now = self._monotonic()
        lost_at = self.disconnected_at = self.disconnected_at or now
        host = self._connection.host
        try:
            self._connection.reconnect()
        except Exception as exc:
            if now - self._warned_at >= WARN_DISCONNECTED_S:
                LOG.warning('No broker connection for %d s; %s: %s', now - lost_at, host, exc)
                self._warned_at = now
            self._stopping.wait(RECONNECT_PAUSE_S * random.uniform(1, 2))  # noqa: S311  # no secret
        else:
            LOG.info(
                'Reconnected to the broker at %s after %.1f s', host, self._monotonic() - lost_at
            )
            self.disconnected_at = None

    def _operate(self) -> None:
        while True:
            try:
                operation = self._operations.get_nowait()
            except queue.Empty:
                return
            operation()

    def _take_no_more(self) -> None:
        """Cancel the consumers, for good, and give back what waits."""
        self._connection.cancel_consumers()
        self._arrived.clear()
        for request in list(self._in_hand.values()):
            if request.give_back():
                LOG.info('Request %s is left to another worker', request.key)


def _deliveries(delivery: Any) -> int:
    """How often the broker has delivered a request before, without hearing that it is done."""
    count = delivery._raw_message.headers.get('x-delivery-count', 0)
    return count if isinstance(count, int) else 0


def _on_same_channel(one: Any, other: Any) -> bool:
    """Two deliveries on one channel are two messages; on another channel it is the same one
    again.
    """
    return one._raw_message.channel is other._raw_message.channel
