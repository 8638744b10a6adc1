"""The connection to the broker, the same on both sides."""

import ssl
from collections.abc import Mapping
from typing import Any

import oslo_messaging
from amqp.exceptions import AccessRefused, NotAllowed
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError

DEFAULTS = {
    # Queues that survive a restart of the broker; both sides must say the same, or the broker refuses one.
    'rabbit_quorum_queue': 'true',
    'rabbit_transient_quorum_queue': 'true',
    # A caller that is gone may hold the thread that replies to it for so long, in seconds; the driver says 60.
    'kombu_missing_consumer_retry_timeout': '10',
    # The worker puts aside what comes again and again; the broker, which would drop it, has to wait for longer.
    'rabbit_quorum_delivery_limit': '100',
}
CONNECT_TIMEOUT_S = 5


def address(conf: cfg.ConfigOpts, url: str | None = None, **options: object) -> Any:
    """Where the broker is, as a TransportURL that asks for quorum queues.

    The options go into the URL's query instead of the configuration: there they would also change the queues
    of the process that uses our client. What the URL says itself stays.

    :param url: `rabbit://...`; None for `transport_url` of the configuration.
    :param options: of the rabbit driver, for this transport alone.
    :raises ConfigurationError: it is no such URL.
    """
    try:
        target = oslo_messaging.TransportURL.parse(conf, url)
    except oslo_messaging.InvalidTransportURL as exc:
        raise ConfigurationError(f'The transport URL is not valid: {exc}') from exc
    except ValueError:  # its text may hold part of a password
        raise ConfigurationError('The transport URL is not valid: after host and colon it needs a number') from None
    if target.transport.startswith('rabbit'):
        target.query = {**DEFAULTS, **{key: str(value) for key, value in options.items()}, **target.query}
    return target


def exchange(conf: cfg.ConfigOpts) -> str:
    """The exchange that the configuration names."""
    address(conf)  # makes the option known
    name: str = conf.control_exchange
    return name


def connect(conf: cfg.ConfigOpts, target: Any) -> Any:
    """The RPC transport of an address; errors of ours come back as what they are.

    :raises ConfigurationError: there is no such driver, or it has no such option.
    """
    try:
        return oslo_messaging.get_rpc_transport(conf, url=target, allowed_remote_exmods=['placement_worker.errors'])
    except (oslo_messaging.DriverLoadFailure, cfg.Error, ImportError) as exc:
        raise ConfigurationError(f'The transport URL cannot be used: {exc}') from exc


def probe(conf: cfg.ConfigOpts, target: Any) -> None:
    """See whether a broker answers and lets us in; oslo.messaging would try for ever.

    :param target: an address that a transport was made of, so that the driver's options are known.
    :raises BrokerUnreachable: none of the hosts does.
    :raises BrokerRefused: one does, and says no.
    """
    if target.transport.startswith('rabbit'):
        open_connection(conf, target).close()


def open_connection(conf: cfg.ConfigOpts, target: Any) -> Connection:
    """A connection of our own, beside those of oslo.messaging, to the first host that answers.

    What is published on it is confirmed by the broker.

    :param target: as for `probe`.
    :raises BrokerUnreachable: none of the hosts does.
    :raises BrokerRefused: one does, and says no.
    """
    failures = []
    for host in target.hosts:
        place = f'{host.hostname}:{host.port or 5672}'
        connection = Connection(
            hostname=host.hostname,
            port=host.port or 5672,
            userid=host.username,
            password=host.password,
            virtual_host=target.virtual_host or '/',
            ssl=_tls({**conf.oslo_messaging_rabbit, **target.query}),
            connect_timeout=CONNECT_TIMEOUT_S,
            transport_options={'confirm_publish': True},
        )
        try:
            connection.connect()
        except (AccessRefused, NotAllowed) as exc:
            raise BrokerRefused(f'The broker at {place} does not let us in: {exc}') from exc
        except (*connection.connection_errors, *connection.channel_errors) as exc:
            failures.append(f'{place}: {exc}')
        else:
            return connection
    raise BrokerUnreachable(f'No broker answered: {"; ".join(failures) or "the transport URL names none"}')


def _tls(options: Mapping[str, Any]) -> dict[str, Any] | bool:
    """The options of the rabbit driver as kombu takes them."""
    if str(options.get('ssl', False)).lower() not in ('true', '1', 'yes', 'on'):
        return False
    given = {'certfile': 'ssl_cert_file', 'keyfile': 'ssl_key_file', 'ca_certs': 'ssl_ca_file'}
    params = {name: options[option] for name, option in given.items() if options.get(option)}
    return {**params, 'cert_reqs': ssl.CERT_REQUIRED if 'ca_certs' in params else ssl.CERT_NONE}
