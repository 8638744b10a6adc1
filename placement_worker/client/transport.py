"""The transport URL of the broker, and connections to it, configured alike for workers and clients.

Two kinds of connections come from one URL. oslo.messaging's transports carry requests and their
replies. `open_connection` serves all else (declarations, checks, replies of workers): it bounds
each wait, which oslo.messaging does not, and its errors name the host, the cause and the remedy.
"""

import contextlib
import copy
import math
import random
import re
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import oslo_messaging
from amqp import Message
from amqp.exceptions import AccessRefused, AMQPError, ChannelError, NotAllowed, PreconditionFailed
from kombu.connection import Connection
from kombu.exceptions import KombuError
from oslo_config import cfg
from oslo_messaging import MessageDeliveryFailure, MessageUndeliverable

from placement_worker import errors
from placement_worker.formats.text import without_python

DEFAULTS = {
    # Queues that survive a restart of the broker. Workers and clients must use the same value:
    # the broker refuses a declaration that differs from the queue.
    'rabbit_quorum_queue': 'true',
    'rabbit_transient_quorum_queue': 'true',
    # The worker moves poison messages itself. The broker drops messages beyond its own delivery
    # limit, so that limit must be higher.
    'rabbit_quorum_delivery_limit': '100',
    # Seconds; a silent connection is lost after two heartbeats. The driver's default is 60;
    # RabbitMQ recommends 5 to 20: https://www.rabbitmq.com/docs/heartbeats#heartbeats-timeout
    'heartbeat_timeout_threshold': '6',
}
# Options of the rabbit driver that become arguments of a quorum queue unless they are 0.
ARGUMENTS = {
    'rabbit_quorum_delivery_limit': 'x-delivery-limit',
    'rabbit_quorum_max_memory_length': 'x-max-in-memory-length',
    'rabbit_quorum_max_memory_bytes': 'x-max-in-memory-bytes',
}
SECTION = 'oslo_messaging_rabbit'  # the section of the driver's options
MAX_PORT = 65535
# The remedy for a URL that is not split as meant; it must not show a part of the URL.
ENCODING = (
    'percent-encode each of ? # @ , : % [ ] and $ in user, password and virtual host, for example '
    '@ as %40, and use no / in user and password'
)
NO_HOST = 'The transport URL names no broker: expected rabbit://user:password@host:port/'
CONNECT_TIMEOUT_S, CONNECT_MIN_S = 5, 0.5
# The errors of oslo.messaging whose message the broker has not confirmed.
NOT_PUBLISHED = (MessageDeliveryFailure, MessageUndeliverable, KombuError, AMQPError, OSError)
TOO_LARGE = 'is larger than'  # than max_message_size of RabbitMQ, in the text of PreconditionFailed
DROP_S = 0.1
DIAGNOSE_S = 0.8  # of connecting, and of publishing
PORT = 5672
BLOCKED = (
    'the broker blocks publishers while it is short of memory or disk; run "rabbitmq-diagnostics '
    'check_local_alarms"'
)
ANSWER_S = 30
RETRY_S = 0.2  # the pause before kombu's second attempt
# Options of the rabbit driver that name files, by kombu's names for them.
TLS_FILES = {'ca_certs': 'ssl_ca_file', 'keyfile': 'ssl_key_file', 'certfile': 'ssl_cert_file'}
# TLS errors while a broker or a proxy starts or stops; all others are permanent.
TRANSIENT_TLS_ERRORS = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def transport_url(conf: cfg.ConfigOpts, url: str | None = None, **options: object) -> Any:
    """Return the TransportURL of the broker, with quorum queues as the default.

    The options become part of the URL's query, and those of the URL itself take precedence. In the
    configuration they would also change the queues of the process that uses the client.
    """
    try:
        target = oslo_messaging.TransportURL.parse(conf, url)
        wrong = _not_for_kombu(url or conf.transport_url, target)
    except (cfg.NoSuchOptError, cfg.TemplateSubstitutionError):  # the text has a part of the URL
        raise errors.ConfigurationError(
            'transport_url is not valid: oslo.config takes the text behind its $ for the name of '
            f'another option; {ENCODING}'
        ) from None
    except oslo_messaging.InvalidTransportURL as exc:
        wrong = f'The transport URL is not valid: {exc}; expected rabbit://user:password@host:port/vhost'
    except ValueError:  # its text may contain a part of the password
        wrong = (
            f'The transport URL is not valid: after host and colon it needs a number; {ENCODING}'
        )
    if wrong:
        raise errors.ConfigurationError(wrong)
    if target.transport.startswith('rabbit'):
        added = {key: str(value) for key, value in options.items()}
        target.query = {**DEFAULTS, **added, **target.query}
    return target


def _not_for_kombu(url: str, target: oslo_messaging.TransportURL) -> str | None:
    # The rest of a password behind a separator would become the name of a host, which errors show.
    # `_transform_transport_url` of oslo.messaging 18.3 decodes a slash in user and password and the
    # virtual host, and does not encode them for kombu: a worker would try to connect for ever.
    if '#' in url or '@' in urlsplit(url).path + urlsplit(url).query:
        return f'The transport URL is not valid: {ENCODING}'
    if any((host.port or 0) > MAX_PORT for host in target.hosts):
        return f'The transport URL is not valid: a port is above {MAX_PORT}'
    if any('/' in f'{host.username}{host.password}' for host in target.hosts):
        return (
            'oslo.messaging cannot connect with a / in user or password, encoded or not: choose a '
            'user and a password without it'
        )
    if not {*'?#%'}.isdisjoint(target.virtual_host or ''):
        return (
            'oslo.messaging cannot connect to a virtual host with ?, # or % in its name, encoded '
            'or not: choose another name'
        )
    return None


def control_exchange(conf: cfg.ConfigOpts) -> str:
    transport_url(conf)  # registers the option
    name: str = conf.control_exchange
    return name


def connect(conf: cfg.ConfigOpts, target: Any) -> Any:
    with driver_errors():
        transport = oslo_messaging.get_rpc_transport(
            conf, url=target, allowed_remote_exmods=['placement_worker.errors']
        )
        if target.transport.startswith('rabbit'):
            dict(conf[SECTION])  # reads each option, which validates its value
        return transport


def load_transport_url(conf: cfg.ConfigOpts, url: str | None = None) -> Any:
    """Return the TransportURL of the broker, and register and check the options of its driver."""
    target = transport_url(conf, url)
    connect(conf, target).cleanup()
    return target


@contextlib.contextmanager
def driver_errors() -> Iterator[None]:
    try:
        yield
    except (oslo_messaging.DriverLoadFailure, ImportError) as exc:  # ImportError: of kafka://
        raise errors.ConfigurationError(
            f'The transport URL cannot be used: {exc}; it must begin with rabbit://'
        ) from exc
    except cfg.ConfigSourceValueError as exc:  # its text has no section
        text = re.sub('(?<= option )', f'[{SECTION}] ', str(exc), count=1)
        raise errors.ConfigurationError(without_python(text)) from exc
    except (cfg.Error, ValueError) as exc:
        raise errors.ConfigurationError(f'The transport URL cannot be used: {exc}') from exc


def open_connection(
    conf: cfg.ConfigOpts, target: Any, *, left_s: float = math.inf, **more: object
) -> Connection:
    """Connect to the first host that responds, with publisher confirms.

    :param target: a TransportURL of `load_transport_url`.
    :param left_s: the seconds after which no attempt begins. There are two attempts per host, and
        each step of one may take `CONNECT_TIMEOUT_S`, or the share of its host if that is shorter.
    :raises BrokerRefused: a host refuses access, or its certificate is not trusted.
    """
    if not target.hosts:  # oslo.messaging would wait for one without a bound
        option = conf.get_location('transport_url')
        is_set = option and option.location.is_user_controlled
        raise errors.ConfigurationError(NO_HOST if is_set else '[DEFAULT] transport_url is not set')
    options = {**conf.oslo_messaging_rabbit, **target.query}
    failures = []
    end = time.monotonic() + left_s
    for number, host in enumerate(target.hosts):
        share_s = (end - time.monotonic()) / (len(target.hosts) - number)
        address = f'{host.hostname}:{host.port or PORT}'
        connection = Connection(
            hostname=host.hostname,
            port=host.port or PORT,
            userid=host.username,
            password=host.password,
            virtual_host=target.virtual_host or '/',
            ssl=_tls(options, host.hostname),
            login_method=options['rabbit_login_method'],
            connect_timeout=min(CONNECT_TIMEOUT_S, max(share_s, CONNECT_MIN_S)),
            transport_options={
                'confirm_publish': True,
                'read_timeout': ANSWER_S,
                'write_timeout': ANSWER_S,
                **more,
            },
        )
        try:
            # A short time is for one attempt: the caller says soon why the broker does not respond.
            _establish(connection, address, retries=int(left_s > CONNECT_TIMEOUT_S))
        except (*connection.connection_errors, *connection.channel_errors) as exc:
            is_reset = isinstance(exc, ConnectionResetError) and not connection.ssl
            hint = '; this port may need TLS: check port and ssl' if is_reset else ''
            failures.append(f'{address}: {exc}{hint}')
            if time.monotonic() >= end:
                break
        else:
            # A socket of eventlet ignores the timeouts that py-amqp sets in the kernel.
            connection.connection.sock.settimeout(min(ANSWER_S, max(left_s, CONNECT_MIN_S)))
            return connection
    raise errors.BrokerUnreachable(f'No broker responded: {"; ".join(failures)}')


def obstacle(conf: cfg.ConfigOpts, target: Any, exchange: str) -> str | None:
    """Return why the broker takes no requests at present, in two `DIAGNOSE_S`; None if it does."""
    blocks: list[object] = []
    try:
        connection = open_connection(conf, target, left_s=DIAGNOSE_S, on_blocked=blocks.append)
        with contextlib.ExitStack() as stack:
            stack.callback(drop, connection)
            publish = connection.channel().basic_publish_confirm
            for _ in range(2):  # RabbitMQ accepts one message of a connection before it blocks it
                publish(Message(), exchange, uuid.uuid4().hex, confirm_timeout=DIAGNOSE_S)
    except (ChannelError, errors.BrokerRefused):
        pass  # it responds
    except (AMQPError, errors.BrokerUnreachable, OSError) as exc:
        return BLOCKED if blocks else f'the broker is away or silent: {exc}'
    return None


def amqp_cause(
    exc: BaseException | None, kinds: tuple[type[Exception], ...]
) -> BaseException | None:
    """Return the error of py-amqp behind one of oslo.messaging, which keeps its text alone."""
    while exc is not None and not isinstance(exc, kinds):
        exc = exc.__cause__ or exc.__context__
    return exc


def drop(connection: Connection) -> None:
    """Close the socket of a connection without waiting for the broker, as TLS would."""
    if connection.connected:  # kombu would open a lost connection again
        with contextlib.suppress(OSError):
            connection.connection.sock.settimeout(DROP_S)
    connection.collect()


def shuffled(target: Any) -> Any:
    url = copy.copy(target)
    url.hosts = random.sample(target.hosts, len(target.hosts))
    return url


def queue_options(conf: cfg.ConfigOpts, target: Any) -> tuple[dict[str, bool], dict[str, Any]]:
    """Return the flags and the arguments with which oslo.messaging declares a queue."""
    options = {**conf.oslo_messaging_rabbit, **target.query}
    is_quorum = is_true(options['rabbit_quorum_queue'])
    flags = {
        'durable': is_quorum or is_true(options['amqp_durable_queues']),
        'auto_delete': is_true(options['amqp_auto_delete']),
    }
    limits = {argument: int(options[name]) for name, argument in ARGUMENTS.items()}
    quorum = {'x-queue-type': 'quorum', **{name: limit for name, limit in limits.items() if limit}}
    return flags, quorum if is_quorum else {}


def declare_bound(
    channel: Any, conf: cfg.ConfigOpts, target: Any, exchange: str, queue: str
) -> None:
    """Declare an exchange and a queue whose routing key is its name, and bind them.

    :raises QueueMismatch: one of them exists with other options.
    """
    flags, arguments = queue_options(conf, target)
    try:
        channel.exchange_declare(exchange, 'topic', **flags)
        channel.queue_declare(queue, arguments=arguments, **flags)
        channel.queue_bind(queue, exchange, queue)
    except PreconditionFailed as exc:
        raise errors.QueueMismatch(
            f'Exchange {exchange} or queue {queue} exists on the broker with other options than '
            f'it needs: {exc}. Use other names, or delete it when it is not in use'
        ) from exc


def is_true(option: object) -> bool:
    return str(option).lower() in ('true', '1', 'yes', 'on')


def _establish(connection: Connection, address: str, retries: int) -> None:
    try:
        connection.ensure_connection(
            max_retries=retries, interval_start=RETRY_S, reraise_as_library_errors=False
        )
    except (AccessRefused, NotAllowed) as exc:
        cause = str(exc).removeprefix('(0, 0): ')
        raise errors.BrokerRefused(
            f'The broker at {address} refused access: {cause}; {_remedy(exc)}'
        ) from exc
    except TRANSIENT_TLS_ERRORS:
        raise
    except ssl.SSLError as exc:
        is_plain = getattr(exc, 'reason', None) == 'WRONG_VERSION_NUMBER'
        hint = '; this port may be without TLS: check port and ssl' if is_plain else ''
        raise errors.BrokerRefused(
            f'No TLS with the broker at {address}: {_tls_cause(exc)}{hint}'
        ) from exc


def _remedy(refusal: AccessRefused | NotAllowed) -> str:
    if isinstance(refusal, AccessRefused):
        return 'check user and password'
    if "access to vhost '/' " in str(refusal):
        return 'append the name of the virtual host to the URL: it names none, or /'
    if 'access to vhost ' in str(refusal):  # the virtual host exists, unlike "vhost p not found"
        return (
            'grant the user permissions on it with "rabbitmqctl set_permissions"; the page '
            '"Security of the bus and of the cloud" of the manual has the commands'
        )
    return 'check the virtual host'


def _tls_cause(exc: ssl.SSLError) -> str:
    return str(exc).partition(' (_ssl.c')[0]


def _tls(options: Mapping[str, Any], hostname: str) -> dict[str, Any] | bool:
    # With `ssl_ca_file` the certificate must come from that authority and name the host, whatever
    # `ssl_enforce_hostname_verification` says, which the driver ignores. Without it, any authority
    # of the system and any name will do.
    if not is_true(options.get('ssl', False)):
        return False
    files = {name: options[option] for name, option in TLS_FILES.items() if options.get(option)}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name, file in files.items():
        try:
            with open(file, 'rb'):
                pass
            if name == 'ca_certs':
                context.load_verify_locations(file)
            elif name == 'certfile':  # without a password argument, OpenSSL would prompt for one
                context.load_cert_chain(file, files.get('keyfile'), password='')
        except ssl.SSLError as exc:
            option = f'{TLS_FILES[name]} = {file}'
            raise errors.ConfigurationError(f'{option} cannot be used: {_tls_cause(exc)}') from exc
        except OSError as exc:
            raise errors.ConfigurationError(
                f'{TLS_FILES[name]} cannot be read: {errors.file_error(exc)}'
            ) from exc
    if 'ca_certs' not in files:
        return files or True
    return {**files, 'cert_reqs': ssl.CERT_REQUIRED, 'server_hostname': hostname}
