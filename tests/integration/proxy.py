"""An HTTP proxy that injects faults by rules and records requests."""

import os
import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.integration.service import Request

UPSTREAM_TIMEOUT_S = 120
POLL_S = 0.05
RESET_ON_CLOSE = struct.pack('ii', 1, 0)
HOP_BY_HOP = {'connection', 'transfer-encoding', 'content-length', 'keep-alive'}


@dataclass(frozen=True)
class Response:
    """A response for the client."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b''


class Exchange(BaseHTTPRequestHandler):
    """A request and its response; each connection carries one exchange."""

    server: 'Proxy'
    protocol_version = 'HTTP/1.1'

    def handle(self) -> None:
        """Apply the fault of a matching rule, or forward the request."""
        self.raw_requestline = self.rfile.readline()
        if self.raw_requestline and self.parse_request():
            self.body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
            self.server.fault(self.command, self.path, self.headers.get('User-Agent', ''))(self)

    def forward(self) -> Response:
        """Forward the request and return the response.

        The request keeps its host name, so links in the response point to the proxy.
        """
        upstream = HTTPConnection(self.server.upstream, timeout=UPSTREAM_TIMEOUT_S)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(self.body)
            response = upstream.getresponse()
            headers = tuple(
                pair for pair in response.getheaders() if pair[0].lower() not in HOP_BY_HOP
            )
            return Response(response.status, headers, response.read())
        finally:
            upstream.close()

    def reply(self, response: Response) -> None:
        """Send a response unless the client has closed the connection."""
        with suppress(ConnectionError):
            self.send_response(response.status)
            for name, value in response.headers:
                self.send_header(name, value)
            self.send_header('Content-Length', str(len(response.body)))
            self.send_header('Connection', 'close')
            self.end_headers()
            self.wfile.write(response.body)

    def abort(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


Fault = Callable[[Exchange], None]


def forwarded(exchange: Exchange) -> None:
    """Forward the request without a fault."""
    exchange.reply(exchange.forward())


@dataclass
class Rule:
    """A fault for requests whose method and target (path and query) match these expressions."""

    fault: Fault
    method: str = ''
    target: str = ''
    times: float = 1
    hits: int = field(default=0, init=False)

    def takes(self, method: str, target: str) -> bool:
        return self.hits < self.times and bool(
            re.search(self.method, method) and re.search(self.target, target)
        )


class Proxy(ThreadingHTTPServer):
    """A proxy that forwards requests unless a rule matches; the oldest rule takes precedence."""

    daemon_threads = False  # close() waits for them
    upstream: str  # host:port

    def __init__(self, service_url: str) -> None:
        """Start the proxy on a free port.

        :param service_url: the URL of the service; the proxy uses the same path.
        """
        super().__init__(('127.0.0.1', 0), Exchange)
        parts = urlsplit(service_url)
        self.upstream = parts.netloc
        self.url = f'http://127.0.0.1:{self.server_port}{parts.path}'
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(
            target=self.serve_forever,
            kwargs={'poll_interval': POLL_S},
            daemon=True,  # a test run whose set-up fails closes no proxy
        )
        self._thread.start()

    def inject(self, fault: Fault, method: str = '', target: str = '', times: float = 1) -> Rule:
        """Inject a fault into the next matching requests; return the rule, which counts them.

        :param times: the number of requests; infinity for all.
        """
        rule = Rule(fault, method, target, times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def fault(self, method: str, target: str, agent: str) -> Fault:
        """Record a request and return its fault."""
        with self._lock:
            self.requests.append(Request(method, target, agent))
            for rule in self._rules:
                if rule.takes(method, target):
                    rule.hits += 1
                    return rule.fault
        return forwarded

    def wait(self, released: threading.Event) -> bool:
        """Wait until the event is set; return False if the proxy is closed first."""
        while not self.closing.is_set():
            if released.wait(POLL_S):
                return True
        return False

    def close(self) -> None:
        """Stop the proxy and abort all waiting requests."""
        self.closing.set()
        self.shutdown()
        self.server_close()
        self._thread.join()
