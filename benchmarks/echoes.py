"""A stock server and client of oslo.messaging that return a request: the cost of messaging alone.

python -m benchmarks.echoes URL TOPIC

Queue options, prefetch and confirmations are those of a worker and its client.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from placement_worker.cmd import threading_backend

threading_backend.choose()

import oslo_messaging  # noqa: E402
from oslo_config import cfg  # noqa: E402

from placement_worker.client.transport import connect, transport_url  # noqa: E402

EXCHANGE = 'placement_worker_echoes'
THREADS = 8  # the default of [worker] threads, and its prefetch
TIMEOUT_S = 120
READY = 'ready'


class Echo:
    @oslo_messaging.expose
    def echo(self, context: Any, request: Any) -> Any:
        return request


def serve(url: str, topic: str) -> None:
    """Serve the topic until the process ends; print `READY` when its queue exists."""
    connection = connect(cfg.CONF, transport_url(cfg.CONF, url, rabbit_qos_prefetch_count=THREADS))
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic, server=f'echo-{os.getpid()}')
    server = oslo_messaging.get_rpc_server(connection, target, [Echo()])
    server.start(override_pool_size=THREADS)
    print(READY, flush=True)
    server.wait()


@contextlib.contextmanager
def client(url: str, exchange: str, topic: str, method: str) -> Iterator[Callable[[Any], Any]]:
    """Yield a function that sends a request to a server with the stock client."""
    connection = connect(cfg.CONF, transport_url(cfg.CONF, url))
    target = oslo_messaging.Target(exchange=exchange, topic=topic)
    stock = oslo_messaging.get_rpc_client(connection, target, timeout=TIMEOUT_S)
    try:
        yield lambda request: stock.call({}, method, request=request)
    finally:
        connection.cleanup()


if __name__ == '__main__':
    logging.getLogger('oslo_messaging').setLevel(logging.CRITICAL)
    serve(*sys.argv[1:])
