"""A small HTTP proxy before one service, which does harm by rule and keeps the requests that it
saw.
"""

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
OF_ONE_CONNECTION = {'connection', 'transfer-encoding', 'content-length', 'keep-alive'}


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b''


class Exchange(BaseHTTPRequestHandler):
    """One request, and what a fault may do with it. A connection carries one alone."""

    server: 'Proxy'
    protocol_version = 'HTTP/1.1'

    def handle(self) -> None:
        """Let a rule decide, else pass it on."""
        self.raw_requestline = self.rfile.readline()
        if self.raw_requestline and self.parse_request():
            self._body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
            self.server.fault(self.command, self.path, self.headers.get('User-Agent', ''))(self)

    def forward(self) -> Answer:
        """Ask the service. The host is the client's, so that links in the answer lead through the
        proxy.
        """
        upstream = HTTPConnection(self.server.upstream, timeout=UPSTREAM_TIMEOUT_S)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(self._body)
            answer = upstream.getresponse()
            headers = tuple(
                pair for pair in answer.getheaders() if pair[0].lower() not in OF_ONE_CONNECTION
            )
            return Answer(answer.status, headers, answer.read())
        finally:
            upstream.close()

    def reply(self, answer: Answer) -> None:
        """Answer the client, if it is still there."""
        with suppress(ConnectionError):
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header('Content-Length', str(len(answer.body)))
            self.send_header('Connection', 'close')
            self.end_headers()
            self.wfile.write(answer.body)

    def abort(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


Fault = Callable[[Exchange], None]


def passed_on(exchange: Exchange) -> None:
    """No fault at all."""
    exchange.reply(exchange.forward())


@dataclass
class Rule:
    """A fault of those requests whose method and target (path and query) contain these regular
    expressions.
    """

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
    """Passes requests on to a service, but for those that a rule takes; the oldest rule goes
    first.
    """

    daemon_threads = False  # closing waits for them
    upstream: str  # host:port

    def __init__(self, service_url: str) -> None:
        """Start to serve on a free port.

        :param service_url: where the service is; its path goes to the proxy's own URL.
        """
        super().__init__(('127.0.0.1', 0), Exchange)
        parts = urlsplit(service_url)
        self.upstream = parts.netloc
        self.url = f'http://127.0.0.1:{self.server_port}{parts.path}'
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={'poll_interval': POLL_S})
        self._thread.start()

    def inject(self, fault: Fault, method: str = '', target: str = '', times: float = 1) -> Rule:
        """Have the next requests like this meet the fault; returns the rule, which counts them.

        :param times: how many of them; infinity for all.
        """
        rule = Rule(fault, method, target, times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def heal(self) -> None:
        """Forget all rules."""
        with self._lock:
            self._rules.clear()

    def fault(self, method: str, target: str, agent: str) -> Fault:
        """Keep the request and say what becomes of it."""
        with self._lock:
            self.requests.append(Request(method, target, agent))
            for rule in self._rules:
                if rule.takes(method, target):
                    rule.hits += 1
                    return rule.fault
        return passed_on

    def wait(self, released: threading.Event) -> bool:
        """Wait until it is released; False: the proxy closes."""
        while not self.closing.is_set():
            if released.wait(POLL_S):
                return True
        return False

    def close(self) -> None:
        """End, with all the requests that wait."""
        self.closing.set()
        self.shutdown()
        self.server_close()
        self._thread.join()
