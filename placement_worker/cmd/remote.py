"""Connections of commands to running workers; this module imports oslo.messaging."""

import contextlib
from collections.abc import Iterator

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
from placement_worker.contract.rpc import PARKING_SUFFIX
from placement_worker.late_ack import parking
from placement_worker.messaging import topology

CONNECT_S = 5
# How long the reply queue of a command outlives it: a connection that is lost must be replaced
# within this time.
REPLY_QUEUE_TTL_S = 60


def client(
    url: str | None, config_file: str | None, timeout_s: float | None, server: str | None = None
) -> PolicyClient:
    conf = configured(config_file)
    target = transport_url(conf, url, rabbit_transient_queues_ttl=REPLY_QUEUE_TTL_S)
    # A call waits for a broker that is away until its timeout. A person should learn at once that
    # no host responds, for example because the URL is wrong.
    open_connection(conf, load_transport_url(conf, str(target)), left_s=CONNECT_S).release()
    return PolicyClient(
        str(target),
        conf=conf,
        topic=conf.worker.topic,
        slow_topic=conf.worker.slow_topic,
        server=server,
        exchange=control_exchange(conf),
        timeout_s=timeout_s or TIMEOUT_S,
        slow_timeout_s=timeout_s or SLOW_TIMEOUT_S,
    )


@contextlib.contextmanager
def parked(
    url: str | None, config_file: str | None, limit: int
) -> Iterator[tuple[Connection, Iterator[parking.ParkedRequest]]]:
    """Yield a connection and the parked requests; those that are not acknowledged stay parked."""
    conf = configured(config_file)
    target = load_transport_url(conf, url)
    queue = conf.worker.topic + PARKING_SUFFIX
    with open_connection(conf, target) as connection:
        try:
            with topology.needed(queue='read', exchange='write'):
                yield connection, parking.parked_requests(connection, queue, limit)
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
