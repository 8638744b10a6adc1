"""Commands that ask running workers; importing this imports the messaging layer."""

import contextlib
from collections.abc import Iterator

from amqp.exceptions import NotFound
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker import config, errors
from placement_worker.client.connection import control_exchange, load_transport_url, open_connection
from placement_worker.client.rpc_client import SLOW_TIMEOUT_S, TIMEOUT_S, PolicyClient
from placement_worker.contract.topics import PARKING_SUFFIX
from placement_worker.messaging import parking


def client(
    url: str | None, config_file: str | None, timeout_s: float | None, server: str | None = None
) -> PolicyClient:
    """The client that a transport URL or the workers' configuration file leads to.

    :param server: the host of the one worker to ask; None for any.
    :raises OSError: the file cannot be read.
    :raises ConfigurationError: it says what does not fit.
    """
    conf = _configured(config_file)
    return PolicyClient(
        url,
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
    url: str | None, config_file: str | None, most: int
) -> Iterator[tuple[Connection, Iterator[parking.ParkedRequest]]]:
    """A connection, and the requests that the workers have parked; those not acknowledged stay.

    :raises OSError: the file cannot be read.
    :raises ConfigurationError: it says what does not fit.
    :raises NoWorkerAnswered: the broker is away, or no worker has made the queue yet.
    """
    conf = _configured(config_file)
    target = load_transport_url(conf, url)
    queue = conf.worker.topic + PARKING_SUFFIX
    with open_connection(conf, target) as connection:
        try:
            yield connection, parking.parked_requests(connection, queue, most)
        except NotFound as exc:
            raise errors.NoWorkerAnswered(
                f'There is no queue {queue}: no worker has run on this broker'
            ) from exc


def _configured(config_file: str | None) -> cfg.ConfigOpts:
    conf = cfg.CONF
    config.register(conf)
    config.set_defaults()
    if config_file:
        with open(
            config_file, 'rb'
        ):  # Python's error says what is wrong with it, oslo.config's does not
            pass
    try:
        conf([], default_config_files=[config_file] if config_file else [])
    except (cfg.Error, UnicodeDecodeError) as exc:
        raise errors.ConfigurationError(config.told(exc)) from exc
    return conf
