"""Transports of oslo.messaging, configured alike for workers and clients."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import oslo_messaging
from oslo_config import cfg

from placement_worker.errors import ConfigurationError
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
    'heartbeat_timeout_threshold': '12',
}
SECTION = 'oslo_messaging_rabbit'
"""The section of the driver's options."""
MAX_PORT = 65535
ENCODING = (
    'percent-encode each of ? # @ , : % [ ] and $ in user, password and virtual host, for example '
    '@ as %40, and use no / in user and password'
)
"""The remedy for a URL that is not split as meant; it must not show a part of the URL."""


def transport_url(conf: cfg.ConfigOpts, url: str | None = None, **options: object) -> Any:
    """Return the TransportURL of the broker, with quorum queues as the default.

    The options become part of the URL's query. In the configuration they would also change the
    queues of the process that uses the client. Options in the URL itself take precedence.

    :param url: `rabbit://...`; None for `transport_url` of the configuration.
    :param options: options of the rabbit driver for this transport alone.
    :raises ConfigurationError: the URL is not valid.
    """
    try:
        target = oslo_messaging.TransportURL.parse(conf, url)
        _check_encoding(url or conf.transport_url)
        _check_characters(target)
    except (cfg.NoSuchOptError, cfg.TemplateSubstitutionError):  # the text has a part of the URL
        raise ConfigurationError(
            'transport_url is not valid: oslo.config takes the text behind its $ for the name of '
            'another option; ' + ENCODING
        ) from None
    except oslo_messaging.InvalidTransportURL as exc:
        raise ConfigurationError(
            f'The transport URL is not valid: {exc}; expected rabbit://user:password@host:port/vhost'
        ) from exc
    except ValueError:  # its text may contain a part of the password
        raise ConfigurationError(
            'The transport URL is not valid: after host and colon it needs a number; ' + ENCODING
        ) from None
    if target.transport.startswith('rabbit'):
        added = {key: str(value) for key, value in options.items()}
        target.query = {**DEFAULTS, **added, **target.query}
    return target


def _check_encoding(url: str) -> None:
    """Check that no separator of a password ends the address of the broker.

    The rest of the password would become the name of a host, which errors show.

    :raises ConfigurationError: the URL has a fragment, or an @ after the address.
    """
    parts = urlsplit(url)
    if '#' in url or '@' in parts.path + parts.query:
        raise ConfigurationError(f'The transport URL is not valid: {ENCODING}')


def _check_characters(target: oslo_messaging.TransportURL) -> None:
    """Check that oslo.messaging can pass user, password and virtual host on to kombu.

    Its rabbit driver does not encode a slash in user and password, nor the virtual host. A worker
    would then try to connect for ever.

    :raises ConfigurationError: it cannot; the text shows none of them.
    :source: `_transform_transport_url` in oslo_messaging/_drivers/impl_rabbit.py, of 18.3.
    """
    if any((host.port or 0) > MAX_PORT for host in target.hosts):
        raise ConfigurationError(f'The transport URL is not valid: a port is above {MAX_PORT}')
    if any('/' in f'{host.username}{host.password}' for host in target.hosts):
        raise ConfigurationError(
            'oslo.messaging cannot connect with a / in user or password, encoded or not: choose a '
            'user and a password without it'
        )
    if target.virtual_host and not {*'?#%'}.isdisjoint(target.virtual_host):
        raise ConfigurationError(
            'oslo.messaging cannot connect to a virtual host with ?, # or % in its name, encoded '
            'or not: choose another name'
        )


def control_exchange(conf: cfg.ConfigOpts) -> str:
    """Return the exchange that the configuration names."""
    transport_url(conf)  # registers the option
    name: str = conf.control_exchange
    return name


def connect(conf: cfg.ConfigOpts, target: Any) -> Any:
    """Return the RPC transport of a TransportURL.

    Errors of `placement_worker.errors` that a worker raises reach the caller with their type.

    :raises ConfigurationError: the driver is unknown, or it rejects an option.
    """
    with driver_errors():
        transport = oslo_messaging.get_rpc_transport(
            conf, url=target, allowed_remote_exmods=['placement_worker.errors']
        )
        if target.transport.startswith('rabbit'):
            dict(conf[SECTION])  # reads each option, which validates its value
        return transport


def load_transport_url(conf: cfg.ConfigOpts, url: str | None = None) -> Any:
    """Return the TransportURL of the broker, and register the options of its driver.

    :raises ConfigurationError: the URL is not valid, the driver is unknown, or it rejects an
        option.
    """
    target = transport_url(conf, url)
    connect(conf, target).cleanup()
    return target


@contextlib.contextmanager
def driver_errors() -> Iterator[None]:
    """Translate the errors of a transport's creation.

    :raises ConfigurationError: the driver is unknown, or it rejects an option.
    """
    try:
        yield
    except (oslo_messaging.DriverLoadFailure, ImportError) as exc:  # ImportError: of kafka://
        raise ConfigurationError(
            f'The transport URL cannot be used: {exc}; it must begin with rabbit://'
        ) from exc
    except cfg.ConfigSourceValueError as exc:  # its text has no section
        text = re.sub('(?<= option )', f'[{SECTION}] ', str(exc), count=1)
        raise ConfigurationError(without_python(text)) from exc
    except (cfg.Error, ValueError) as exc:
        raise ConfigurationError(f'The transport URL cannot be used: {exc}') from exc
