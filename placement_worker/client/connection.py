"""The connection to the broker, the same on both sides."""

import contextlib
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import oslo_messaging
from amqp.exceptions import AccessRefused, NotAllowed
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError, file_error

DEFAULTS = {
    # Queues that survive a restart of the broker; both sides must say the same, or the broker
    # refuses one.
    'rabbit_quorum_queue': 'true',
    'rabbit_transient_quorum_queue': 'true',
    # The worker puts aside what comes again and again; the broker, which would drop it, has to wait
    # for longer.
    'rabbit_quorum_delivery_limit': '100',
    # A silent connection is lost after two of these, in seconds; the driver says 60. RabbitMQ
    # advises 5 to 20: https://www.rabbitmq.com/docs/heartbeats#heartbeats-timeout
    'heartbeat_timeout_threshold': '12',
}
CONNECT_TIMEOUT_S = 5
ANSWER_S = 30
RETRY_S = 0.2  # kombu tries once more
TLS_FILES = {'ca_certs': 'ssl_ca_file', 'certfile': 'ssl_cert_file', 'keyfile': 'ssl_key_file'}
"""Options of the rabbit driver that name files, by kombu's names for them."""
PASSING = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Errors of TLS that a broker or a load balancer makes while it starts or ends; all others stay."""


def address(conf: cfg.ConfigOpts, url: str | None = None, **options: object) -> Any:
    """Where the broker is, as a TransportURL that asks for quorum queues.

    The options go into the URL's query instead of the configuration: there they would also change
    the queues of the process that uses our client. What the URL says itself stays.

    :param url: `rabbit://...`; None for `transport_url` of the configuration.
    :param options: of the rabbit driver, for this transport alone.
    :raises ConfigurationError: it is no such URL.
    """
    try:
        target = oslo_messaging.TransportURL.parse(conf, url)
    except oslo_messaging.InvalidTransportURL as exc:
        raise ConfigurationError(f'The transport URL is not valid: {exc}') from exc
    except ValueError:  # its text may hold part of a password
        raise ConfigurationError(
            'The transport URL is not valid: after host and colon it needs a number'
        ) from None
    if target.transport.startswith('rabbit'):
        target.query = {
            **DEFAULTS,
            **{key: str(value) for key, value in options.items()},
            **target.query,
        }
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
    with loading():
        return oslo_messaging.get_rpc_transport(
            conf, url=target, allowed_remote_exmods=['placement_worker.errors']
        )


def located(conf: cfg.ConfigOpts, url: str | None = None) -> Any:
    """As `address`, and the options of its driver are known from here on.

    :raises ConfigurationError: it is no such URL, there is no such driver, or it has no such
        option.
    """
    target = address(conf, url)
    connect(conf, target).cleanup()
    return target


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Make a transport, or say in words of ours why there is none.

    :raises ConfigurationError: there is no such driver, or it has no such option, or not with such
        a value.
    """
    try:
        yield
    except (oslo_messaging.DriverLoadFailure, cfg.Error, ImportError, ValueError) as exc:
        raise ConfigurationError(f'The transport URL cannot be used: {exc}') from exc


def probe(conf: cfg.ConfigOpts, target: Any) -> None:
    """See whether a broker answers and lets us in; oslo.messaging would try for ever.

    :param target: as of `located`.
    :raises BrokerUnreachable: none of the hosts does.
    :raises BrokerRefused: one does, and says no, or has no certificate that we trust.
    :raises ConfigurationError: the URL names no host, or a file that TLS needs cannot be used.
    """
    if target.transport.startswith('rabbit'):
        open_connection(conf, target).close()


def open_connection(conf: cfg.ConfigOpts, target: Any, **more: object) -> Connection:
    """A connection of our own, beside those of oslo.messaging, to the first host that answers.

    What is published on it is confirmed by the broker.

    :param target: as for `probe`.
    :param more: options of py-amqp's connection, e.g. another `read_timeout`. By default a broker
        that does not answer within `ANSWER_S` raises TimeoutError.
    :raises BrokerUnreachable: none of the hosts does.
    :raises BrokerRefused: one does, and says no, or has no certificate that we trust.
    :raises ConfigurationError: the URL names no host, or a file that TLS needs cannot be used.
    """
    if not target.hosts:
        raise ConfigurationError(_no_host(conf))
    failures = []
    options = {**conf.oslo_messaging_rabbit, **target.query}
    for host in target.hosts:
        place = f'{host.hostname}:{host.port or 5672}'
        connection = Connection(
            hostname=host.hostname,
            port=host.port or 5672,
            userid=host.username,
            password=host.password,
            virtual_host=target.virtual_host or '/',
            ssl=_tls(options, host.hostname),
            login_method=options['rabbit_login_method'],
            connect_timeout=CONNECT_TIMEOUT_S,
            transport_options={
                'confirm_publish': True,
                'read_timeout': ANSWER_S,
                'write_timeout': ANSWER_S,
                **more,
            },
        )
        try:
            connection.ensure_connection(
                max_retries=1, interval_start=RETRY_S, reraise_as_library_errors=False
            )
        except (AccessRefused, NotAllowed) as exc:
            raise BrokerRefused(f'The broker at {place} does not let us in: {exc}') from exc
        except (*connection.connection_errors, *connection.channel_errors) as exc:
            if isinstance(exc, ssl.SSLError) and not isinstance(exc, PASSING):
                raise BrokerRefused(f'No TLS with the broker at {place}: {_told(exc)}') from exc
            failures.append(f'{place}: {exc}')
        else:
            return connection
    raise BrokerUnreachable(f'No broker answered: {"; ".join(failures)}')


def _no_host(conf: cfg.ConfigOpts) -> str:
    """Why nobody can be connected to; waiting for a broker that no URL names would be for ever."""
    found = conf.get_location('transport_url')
    if found and found.location.is_user_controlled:
        return 'The transport URL names no broker: expected rabbit://user:password@host:port/'
    return '[DEFAULT] transport_url is not set'


def _told(exc: ssl.SSLError) -> str:
    """What went wrong, without the line of Python's source that it ends with."""
    return str(exc).partition(' (_ssl.c')[0]


def is_on(option: object) -> bool:
    """The value of a switch, of the configuration or of a URL's query."""
    return str(option).lower() in ('true', '1', 'yes', 'on')


def _tls(options: Mapping[str, Any], hostname: str) -> dict[str, Any] | bool:
    """The options of the rabbit driver as kombu takes them, and as the driver gives them.

    With `ssl_ca_file` the certificate has to come from that authority and to name the host,
    whatever `ssl_enforce_hostname_verification` says: the driver has that option and does not look
    at it. Without it, any authority that the system knows will do, and any name.

    :raises ConfigurationError: a file cannot be used.
    """
    if not is_on(options.get('ssl', False)):
        return False
    files = {name: options[option] for name, option in TLS_FILES.items() if options.get(option)}
    _check_files(files)
    if 'ca_certs' not in files:
        return files or True
    return {**files, 'cert_reqs': ssl.CERT_REQUIRED, 'server_hostname': hostname}


def _check_files(files: Mapping[str, str]) -> None:
    """See that the files can be read and are what they should be; Python's own errors do not name
    them.

    :raises ConfigurationError: one cannot, or is not.
    """
    for name, file in files.items():
        try:
            with open(file, 'rb'):
                pass
        except OSError as exc:
            raise ConfigurationError(f'{TLS_FILES[name]} cannot be read: {file_error(exc)}') from exc
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        name = 'ca_certs'
        if name in files:
            context.load_verify_locations(files[name])
        name = 'certfile'
        if name in files:  # an empty password, or it would ask the terminal for one
            context.load_cert_chain(files[name], files.get('keyfile'), password='')
    except ssl.SSLError as exc:
        raise ConfigurationError(
            f'{TLS_FILES[name]} = {files[name]} cannot be used: {_told(exc)}'
        ) from exc
