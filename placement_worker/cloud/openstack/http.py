"""HTTP connections that enforce the deadline for each exchange.

The timeouts of requests apply to each read from the socket, not to the whole response. A service
that sends one byte per second would block a thread forever. Therefore a timer shuts down the
socket at the deadline.
"""

import contextlib
import logging
import math
import socket
import threading
from contextvars import ContextVar
from http import cookiejar
from typing import Any

import requests
from keystoneauth1.session import TCPKeepAliveAdapter
from typing_extensions import override
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from placement_worker.cloud import time_budget

LOG = logging.getLogger(__name__)
# Connections to keep open per host, at least as many as a process has handler threads.
_CONNECTIONS = 32
_exchange: ContextVar['_Exchange | None'] = ContextVar('exchange', default=None)


def session() -> requests.Session:
    """Return connections that threads and cluster owners can share: no cookie is stored."""
    shared = requests.Session()
    shared.cookies.set_policy(cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    shared.hooks['response'].append(_log)
    for scheme in ('http://', 'https://'):
        shared.mount(scheme, _Adapter(pool_maxsize=_CONNECTIONS))
    return shared


def _log(response: requests.Response, **_: object) -> None:
    """Log the request id in the service's log; the formatter adds the id of the check."""
    LOG.debug(
        '%s %s: HTTP %d, request id %s',
        response.request.method,
        (response.url or '').partition('?')[0],
        response.status_code,
        response.headers.get('X-OpenStack-Request-ID'),
    )


class _Exchange:
    """A request and its response; a timer shuts down their socket at the deadline."""

    def __init__(self, left_s: float) -> None:
        self._socket: socket.socket | None = None
        self.is_late = False
        self._timer = threading.Timer(left_s, self._shut_down)
        self._timer.daemon = True

    def __enter__(self) -> '_Exchange':
        self._token = _exchange.set(self)
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        _exchange.reset(self._token)

    def watch(self, connected: socket.socket) -> None:
        """Set the socket that the timer shuts down; raise TimeoutError if it has expired."""
        self._socket = connected
        if self.is_late:
            raise TimeoutError

    def _shut_down(self) -> None:
        self.is_late = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # SSLSocket.shutdown would drop the TLS object that the reading thread uses.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Adapter(TCPKeepAliveAdapter):
    """An adapter that reads each response to its end before the deadline."""

    @override
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {'http': _Pool, 'https': _TLSPool}

    @override
    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {'http': _Pool, 'https': _TLSPool}
        return manager

    @override
    def send(
        self, request: Any, stream: bool = False, timeout: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        budget_s = time_budget.left_s(math.inf if timeout is None else timeout)
        if budget_s == math.inf:
            return super().send(request, stream, timeout, *args, **kwargs)
        if budget_s <= 0:
            raise requests.exceptions.ConnectTimeout(request=request)
        with _Exchange(budget_s) as exchange:
            try:
                response = super().send(request, stream, budget_s, *args, **kwargs)
                _ = response.content
            except (requests.exceptions.RequestException, OSError, ValueError) as exc:
                if exchange.is_late:
                    raise requests.exceptions.ReadTimeout(request=request) from exc
                raise
        if exchange.is_late:  # a truncated response without Content-Length looks complete
            raise requests.exceptions.ReadTimeout(request=request)
        return response


class _Watched:
    """A mixin that registers the socket of a connection with the current exchange."""

    sock: Any

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        self._watch()
        super().send(data)  # type: ignore[misc]

    def getresponse(self) -> Any:
        self._watch()
        return super().getresponse()  # type: ignore[misc]

    def _watch(self) -> None:
        exchange = _exchange.get()
        if exchange is not None:
            exchange.watch(self.sock)


class _Connection(_Watched, HTTPConnection):
    pass


class _TLSConnection(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection
