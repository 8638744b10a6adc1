"""Connections to the broker outside of oslo.messaging, with bounded waits and clear errors."""

import contextlib
import copy
import functools
import math
import random
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

from amqp.exceptions import AccessRefused, AMQPError, NotAllowed
from kombu.connection import Connection
from oslo_config import cfg

from placement_worker.client import read_buffer
from placement_worker.errors import BrokerRefused, BrokerUnreachable, ConfigurationError, file_error

CONNECT_TIMEOUT_S, CONNECT_MIN_S = 5, 0.5
CLOSE_S, DROP_S = 1, 0.1
ANSWER_S = 30
RETRY_S = 0.2  # the pause before kombu's second attempt
TLS_FILES = {'ca_certs': 'ssl_ca_file', 'certfile': 'ssl_cert_file', 'keyfile': 'ssl_key_file'}
"""Options of the rabbit driver that name files, by kombu's names for them."""
TRANSIENT_TLS_ERRORS = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""TLS errors while a broker or a proxy starts or stops; all others are permanent."""


def open_connection(
    conf: cfg.ConfigOpts, target: Any, *, left_s: float = math.inf, **more: object
) -> Connection:
    """Connect to the first host that responds, outside of oslo.messaging.

    The broker confirms each message that is published on the connection.

    :param target: a TransportURL of `load_transport_url`.
    :param left_s: the seconds after which no attempt begins. There are two attempts per host, and
        each step of one may take `CONNECT_TIMEOUT_S`, or `left_s` if that is shorter.
    :param more: options of py-amqp's connection, e.g. `read_timeout`. By default a broker that
        does not respond within `ANSWER_S` raises TimeoutError.
    :raises BrokerUnreachable: no host responds.
    :raises BrokerRefused: a host refuses access, or its certificate is not trusted.
    :raises ConfigurationError: the URL names no host, or a TLS file cannot be used.
    """
    if not target.hosts:
        raise ConfigurationError(_missing_host(conf))
    options = {**conf.oslo_messaging_rabbit, **target.query}
    failures = []
    end = time.monotonic() + left_s
    for host in target.hosts:
        timeout_s = min(CONNECT_TIMEOUT_S, max(end - time.monotonic(), CONNECT_MIN_S))
        connection = _connection(host, target.virtual_host or '/', options, timeout_s, more)
        try:
            _establish(connection)
        except (*connection.connection_errors, *connection.channel_errors) as exc:
            is_reset = isinstance(exc, ConnectionResetError) and not connection.ssl
            hint = '; this port may need TLS: check port and ssl' if is_reset else ''
            failures.append(f'{_host_port(connection)}: {exc}{hint}')
            if time.monotonic() >= end:
                break
        else:
            # A socket of eventlet ignores the timeouts that py-amqp sets in the kernel.
            connection.connection.sock.settimeout(min(ANSWER_S, max(left_s, CONNECT_MIN_S)))
            read_buffer.add_to(connection.connection)
            return connection
    raise BrokerUnreachable(f'No broker responded: {"; ".join(failures)}')


def heartbeat_connector(conf: cfg.ConfigOpts, target: Any) -> Callable[..., Connection]:
    """Return `open_connection` for connections with heartbeats, which the caller must send.

    :param target: a TransportURL of `load_transport_url`.
    """
    heartbeat_s = int(target.query['heartbeat_timeout_threshold'])
    return functools.partial(open_connection, conf, target, heartbeat=heartbeat_s)


def close(connection: Connection) -> bool:
    """Close a connection, and return whether the broker has responded within `CLOSE_S`.

    RabbitMQ warns of a connection whose socket is closed before it responds.
    """
    is_closed = False
    if connection.connected:  # kombu would open a lost connection again
        with contextlib.suppress(AMQPError, OSError):
            connection.connection.sock.settimeout(CLOSE_S)
            connection.connection.close()
            is_closed = True
    drop(connection)
    return is_closed


def drop(connection: Connection) -> None:
    """Close the socket of a connection without waiting for the broker, as TLS would."""
    if connection.connected:  # kombu would open a lost connection again
        with contextlib.suppress(OSError):
            connection.connection.sock.settimeout(DROP_S)
    connection.collect()


def shuffled(target: Any) -> Any:
    """Return a TransportURL with its hosts in random order, which spreads the connections."""
    url = copy.copy(target)
    url.hosts = random.sample(target.hosts, len(target.hosts))
    return url


def is_true(option: object) -> bool:
    """Return the value of a Boolean option of the configuration or of a URL's query."""
    return str(option).lower() in ('true', '1', 'yes', 'on')


def _connection(
    host: Any,
    virtual_host: str,
    options: Mapping[str, Any],
    timeout_s: float,
    more: Mapping[str, object],
) -> Connection:
    return Connection(
        hostname=host.hostname,
        port=host.port or 5672,
        userid=host.username,
        password=host.password,
        virtual_host=virtual_host,
        ssl=_tls(options, host.hostname),
        login_method=options['rabbit_login_method'],
        connect_timeout=timeout_s,
        transport_options={
            'confirm_publish': True,
            'read_timeout': ANSWER_S,
            'write_timeout': ANSWER_S,
            **more,
        },
    )


def _establish(connection: Connection) -> None:
    """Connect, with one retry.

    :raises BrokerRefused: the host refuses access, or its certificate is not trusted.
    """
    try:
        connection.ensure_connection(
            max_retries=1, interval_start=RETRY_S, reraise_as_library_errors=False
        )
    except (AccessRefused, NotAllowed) as exc:
        broker = _host_port(connection)
        raise BrokerRefused(
            f'The broker at {broker} refused access: {_cause(exc)}; {_remedy(exc)}'
        ) from exc
    except TRANSIENT_TLS_ERRORS:
        raise
    except ssl.SSLError as exc:
        broker = _host_port(connection)
        hint = '; this port may be without TLS: check port and ssl' if _is_plain(exc) else ''
        raise BrokerRefused(f'No TLS with the broker at {broker}: {_tls_cause(exc)}{hint}') from exc


def _cause(refusal: AccessRefused | NotAllowed) -> str:
    """Return the text without the number that py-amqp 5 shows in place of a method's name."""
    return str(refusal).removeprefix('(0, 0): ')


def _remedy(refusal: AccessRefused | NotAllowed) -> str:
    if isinstance(refusal, AccessRefused):
        return 'check user and password'
    if "access to vhost '/' " in str(refusal):
        return 'append the name of the virtual host to the URL: it names none, or /'
    if 'access to vhost ' in str(refusal):  # the virtual host exists, unlike "vhost p not found"
        return (
            'grant the user permissions on it with "rabbitmqctl set_permissions"; the page '
            '"Security of the bus" of the manual has the commands'
        )
    return 'check the virtual host'


def _host_port(connection: Connection) -> str:
    return f'{connection.hostname}:{connection.port}'


def _missing_host(conf: cfg.ConfigOpts) -> str:
    """Return why there is no host; oslo.messaging would wait for one without a bound."""
    found = conf.get_location('transport_url')
    if found and found.location.is_user_controlled:
        return 'The transport URL names no broker: expected rabbit://user:password@host:port/'
    return '[DEFAULT] transport_url is not set'


def _is_plain(exc: ssl.SSLError) -> bool:
    """Return whether the first bytes of the broker were not those of TLS."""
    return getattr(exc, 'reason', None) == 'WRONG_VERSION_NUMBER'


def _tls_cause(exc: ssl.SSLError) -> str:
    """Return the cause, without the line of CPython's source at the end of the text."""
    return str(exc).partition(' (_ssl.c')[0]


def _tls(options: Mapping[str, Any], hostname: str) -> dict[str, Any] | bool:
    """Return the driver's TLS options as kombu takes them.

    With `ssl_ca_file` the certificate must come from that authority and name the host, whatever
    `ssl_enforce_hostname_verification` says: the driver declares that option and ignores it.
    Without `ssl_ca_file`, any authority of the system and any name will do.

    :raises ConfigurationError: a file cannot be used.
    """
    if not is_true(options.get('ssl', False)):
        return False
    files = {name: options[option] for name, option in TLS_FILES.items() if options.get(option)}
    _check_files(files)
    if 'ca_certs' not in files:
        return files or True
    return {**files, 'cert_reqs': ssl.CERT_REQUIRED, 'server_hostname': hostname}


def _check_files(files: Mapping[str, str]) -> None:
    """Load the TLS files; Python's own errors do not name them.

    :raises ConfigurationError: a file cannot be read or used.
    """
    for name, file in files.items():
        try:
            with open(file, 'rb'):
                pass
        except OSError as exc:
            raise ConfigurationError(
                f'{TLS_FILES[name]} cannot be read: {file_error(exc)}'
            ) from exc
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        name = 'ca_certs'
        if name in files:
            context.load_verify_locations(files[name])
        name = 'certfile'
        if name in files:  # without a password argument, OpenSSL would prompt for one
            context.load_cert_chain(files[name], files.get('keyfile'), password='')
    except ssl.SSLError as exc:
        option = f'{TLS_FILES[name]} = {files[name]}'
        raise ConfigurationError(f'{option} cannot be used: {_tls_cause(exc)}') from exc
