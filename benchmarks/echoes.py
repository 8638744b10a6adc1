"""Servers that return a request unchanged, and their clients: the cost of messaging alone.

    python -m benchmarks.echoes stock|json|kombu URL TOPIC...

`stock` is the RPC server of oslo.messaging, `json` the same with the serializer of OpenStack
services, `kombu` the library that oslo.messaging uses. All have the queue options and the prefetch
of a worker, and confirm the messages that they publish.
"""

import collections
import contextlib
import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from placement_worker.cmd import threading_backend

threading_backend.choose()

import kombu  # noqa: E402
import oslo_messaging  # noqa: E402
from oslo_config import cfg  # noqa: E402

from placement_worker.client.transport import connect, transport_url  # noqa: E402

EXCHANGE = 'placement_worker_echoes'
THREADS = 8  # the default of [worker] threads, and its prefetch
TIMEOUT_S = 120
READY = 'ready'
QUORUM = {'x-queue-type': 'quorum'}
SERIALIZERS = {'stock': oslo_messaging.NoOpSerializer, 'json': oslo_messaging.JsonPayloadSerializer}
KINDS = (*SERIALIZERS, 'kombu')
Call = Callable[[Any], Any]


class Echo:
    """The endpoint of an echo."""

    @oslo_messaging.expose
    def echo(self, context: Any, request: Any) -> Any:
        return request


def serve(kind: str, url: str, *topics: str) -> None:
    """Serve the topics until the process ends; print `READY` when their queues exist."""
    if kind == 'kombu':
        _serve_kombu(url, *topics)
        return
    connection = connect(cfg.CONF, transport_url(cfg.CONF, url, rabbit_qos_prefetch_count=THREADS))
    for topic in topics:
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic, server=f'echo-{os.getpid()}')
        server = oslo_messaging.get_rpc_server(
            connection, target, [Echo()], serializer=SERIALIZERS[kind]()
        )
        server.start(override_pool_size=THREADS)
    print(READY, flush=True)
    server.wait()


@contextlib.contextmanager
def client(kind: str, url: str, topic: str) -> Iterator[Call]:
    """Yield a thread-safe function that sends a request to an echo and returns the reply."""
    if kind == 'kombu':
        yield _kombu_client(url, topic)
        return
    connection = connect(cfg.CONF, transport_url(cfg.CONF, url))
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic)
    stock = oslo_messaging.get_rpc_client(
        connection, target, timeout=TIMEOUT_S, serializer=SERIALIZERS[kind]()
    )
    try:
        yield lambda request: stock.call({}, 'echo', request=request)
    finally:
        connection.cleanup()


def _connect(url: str) -> kombu.Connection:
    return kombu.Connection(
        url.replace('rabbit://', 'amqp://'), transport_options={'confirm_publish': True}
    )


def _queue(name: str) -> kombu.Queue:
    return kombu.Queue(name, durable=True, queue_arguments=QUORUM)


def _serve_kombu(url: str, topic: str) -> None:
    with _connect(url) as connection:
        producer = connection.Producer()

        # The reply is sent after the callback: a producer that waits for one confirm cannot
        # distinguish it from another.
        arrived: collections.deque[Any] = collections.deque()
        consumer = connection.Consumer(
            _queue(topic), on_message=arrived.append, prefetch_count=THREADS
        )
        with consumer:
            print(READY, flush=True)
            while True:
                while arrived:
                    message = arrived.popleft()
                    to, number = (
                        message.properties['reply_to'],
                        message.properties['correlation_id'],
                    )
                    producer.publish(
                        message.payload, routing_key=to, correlation_id=number, serializer='json'
                    )
                    message.ack()
                connection.drain_events()


def _kombu_client(url: str, topic: str) -> Call:
    """Return a function with a connection and a reply queue per thread; kombu shares neither."""
    mine = threading.local()
    numbers = itertools.count()

    def connect() -> None:
        mine.connection = _connect(url)
        mine.name = f'{topic}-reply-{next(numbers)}'
        mine.producer = mine.connection.Producer()
        mine.replies = []
        mine.consumer = mine.connection.Consumer(
            _queue(mine.name), on_message=mine.replies.append, no_ack=True
        )
        mine.consumer.consume()

    def call(request: Any) -> Any:
        if not hasattr(mine, 'connection'):
            connect()
        mine.producer.publish(
            request, routing_key=topic, reply_to=mine.name, correlation_id='1', serializer='json'
        )
        while not mine.replies:
            mine.connection.drain_events(timeout=TIMEOUT_S)
        return mine.replies.pop().payload

    return call


if __name__ == '__main__':
    logging.getLogger('oslo_messaging').setLevel(logging.CRITICAL)
    serve(*sys.argv[1:])
