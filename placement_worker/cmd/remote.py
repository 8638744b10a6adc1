"""Connections of commands to running workers; this module imports oslo.messaging."""

import contextlib
import time
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from amqp.exceptions import NotFound
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.rpc_client import SLOW_TIMEOUT_S, TIMEOUT_S, PolicyClient
from placement_worker.client.transport import (
    control_exchange,
    load_transport_url,
    open_connection,
    transport_url,
)
from placement_worker.config import options, validation
from placement_worker.contract.model import Capabilities
from placement_worker.contract.rpc import PARKING_SUFFIX
from placement_worker.late_ack.parking import ParkedRequest, parked_requests
from placement_worker.messaging import topology

CONNECT_S = 5
PAUSE_S = 0.1
# How long the reply queue of a command outlives it: a connection that is lost must be replaced
# within this time.
REPLY_QUEUE_TTL_S = 60


def client(args: Namespace, timeout_s: float | None) -> PolicyClient:
    conf = configured(args.config_file)
    target = transport_url(conf, args.transport, rabbit_transient_queues_ttl=REPLY_QUEUE_TTL_S)
    # A call waits for a broker that is away until its timeout. A person should learn at once that
    # no host responds, for example because the URL is wrong.
    open_connection(conf, load_transport_url(conf, str(target)), left_s=CONNECT_S).release()
    return PolicyClient(
        str(target),
        conf=conf,
        topic=conf.worker.topic,
        slow_topic=conf.worker.slow_topic,
        server=args.server,
        exchange=control_exchange(conf),
        timeout_s=timeout_s or TIMEOUT_S,
        slow_timeout_s=timeout_s or SLOW_TIMEOUT_S,
    )


def workers(args: Namespace, timeout_s: float) -> tuple[list[Capabilities], int]:
    """Return the processes that replied, and the number of those that did not.

    RabbitMQ gives requests to the consumers of a queue in turn and skips those whose threads are
    all busy, so requests reach each process soon, unless others always take its turn.

    :raises PlacementWorkerError: no process replied.
    """
    with contextlib.closing(client(args, timeout_s)) as caller:
        count = _consumer_count(cfg.CONF, args.transport)

        def reply(_: int) -> Capabilities | errors.PlacementWorkerError:
            try:
                return caller.get_capabilities()
            except errors.PlacementWorkerError as exc:  # it must not hide the replies of others
                return exc

        processes: dict[tuple[str, str, int], Capabilities] = {}
        end = time.monotonic() + timeout_s
        with ThreadPoolExecutor(2 * count) as executor:
            while True:
                replies = list(executor.map(reply, range(2 * count)))
                for worker in replies:
                    if isinstance(worker, Capabilities):
                        processes[str(worker.host), worker.hostname, worker.pid] = worker
                if len(processes) >= count or time.monotonic() > end:
                    break
                time.sleep(PAUSE_S)
    if not processes and isinstance(replies[0], errors.PlacementWorkerError):
        raise replies[0]
    return [processes[key] for key in sorted(processes)], max(count - len(processes), 0)


def _consumer_count(conf: cfg.ConfigOpts, url: str | None) -> int:
    """Return how many processes consume the topic, and 1 if there is no such queue."""
    with open_connection(conf, load_transport_url(conf, url)) as connection:
        try:
            queue = connection.channel().queue_declare(conf.worker.topic, passive=True)
        except NotFound:  # the error of a call names the remedy
            return 1
        return max(int(queue.consumer_count), 1)


@contextlib.contextmanager
def parked(args: Namespace, limit: int) -> Iterator[tuple[Connection, Iterator[ParkedRequest]]]:
    """Yield a connection and the parked requests; those that are not acknowledged stay parked."""
    conf = configured(args.config_file)
    target = load_transport_url(conf, args.transport)
    queue = conf.worker.topic + PARKING_SUFFIX
    with open_connection(conf, target) as connection:
        try:
            with topology.needed(queue='read', exchange='write'):
                yield connection, parked_requests(connection, queue, limit)
        except NotFound as exc:
            raise errors.NoWorkerAnswered(
                f'Queue {queue} does not exist, so no request is parked: no worker has started on '
                'this broker since its data were created; if "placement-policy ping" gets no '
                'reply either, start a worker, or correct the transport URL or [worker] topic'
            ) from exc


def configured(config_file: str | None) -> cfg.ConfigOpts:
    conf = cfg.CONF
    options.register(conf)
    options.set_defaults()
    if config_file:
        with open(config_file, 'rb'):  # oslo.config hides the cause of a file that it cannot open
            pass
    try:
        conf([], default_config_files=[config_file] if config_file else [])
    except (cfg.Error, UnicodeDecodeError) as exc:
        raise errors.ConfigurationError(validation.describe_error(exc)) from exc
    return conf
