"""HTTP that keeps to a deadline: a request ends by then, however slowly its answer trickles in.

The time-outs of requests bound each read of a socket, not the whole answer: a byte a second would
keep a thread for ever. Here whatever is still open at the deadline is shut down.
"""

import contextlib
import logging
import socket
import threading
from contextvars import ContextVar
from http import cookiejar
from typing import Any

import requests
from keystoneauth1.session import TCPKeepAliveAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from placement_worker.cloud import deadline

LOG = logging.getLogger(__name__)
CONNECTIONS = 32
"""Kept open to one host: at least as many as threads of a process ask at once."""
_exchange: ContextVar['_Exchange | None'] = ContextVar('exchange', default=None)


def session() -> requests.Session:
    """Connections that keep to the deadline; several threads and owners may share them, as no
    cookie is kept.
    """
    shared = requests.Session()
    shared.cookies.set_policy(cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    shared.hooks['response'].append(_log)
    for scheme in ('http://', 'https://'):
        shared.mount(scheme, _Adapter(pool_maxsize=CONNECTIONS))
    return shared


def _log(answer: requests.Response, **_: object) -> None:
    """The id under which the service has it in its log, beside ours, which the formatter of the log
    adds.
    """
    LOG.debug(
        '%s %s: HTTP %d, request id %s',
        answer.request.method,
        (answer.url or '').partition('?')[0],
        answer.status_code,
        answer.headers.get('X-OpenStack-Request-ID'),
    )


class _Exchange:
    """The socket that a request goes out and its answer comes in by; shut down when the time is
    up.
    """

    def __init__(self, left_s: float) -> None:
        self._socket: socket.socket | None = None
        self.is_late = False
        self._timer = threading.Timer(left_s, self._give_up)
        self._timer.daemon = True

    def __enter__(self) -> '_Exchange':
        self._token = _exchange.set(self)
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        _exchange.reset(self._token)

    def watch(self, connected: socket.socket) -> None:
        """Before each step: have the socket shut down in time.

        :raises TimeoutError: the time is up already; whoever gave up then had no socket, or another
            one.
        """
        self._socket = connected
        if self.is_late:
            raise TimeoutError

    def _give_up(self) -> None:
        self.is_late = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Not SSLSocket.shutdown, which pulls TLS from under the thread that reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Adapter(TCPKeepAliveAdapter):
    """Reads each answer to its end, by the deadline."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {'http': _Pool, 'https': _TLSPool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {'http': _Pool, 'https': _TLSPool}
        return manager

    def send(
        self, request: Any, stream: bool = False, timeout: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        budget_s = deadline.left_s(timeout)
        if budget_s is None:
            return super().send(request, stream, timeout, *args, **kwargs)
        if budget_s <= 0:
            raise requests.exceptions.ConnectTimeout(request=request)
        with _Exchange(budget_s) as exchange:
            try:
                answer = super().send(request, stream, budget_s, *args, **kwargs)
                _ = answer.content
            except (requests.exceptions.RequestException, OSError, ValueError) as exc:
                if exchange.is_late:
                    raise requests.exceptions.ReadTimeout(request=request) from exc
                raise
        if exchange.is_late:  # without a length an answer that was cut off looks complete
            raise requests.exceptions.ReadTimeout(request=request)
        return answer


class _Watched:
    """A connection that says which socket it uses."""

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
