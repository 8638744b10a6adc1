"""The proxy injects the given faults and no others."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from tests.integration.faults import held, reply_lost, reset, respond, slow
from tests.integration.proxy import Proxy
from tests.integration.service import matching

SHORT_S = 0.2
LONG_S = 60


class Upstream(ThreadingHTTPServer):
    """A service that records requests and returns their bodies."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Echo)
        self.seen: list[tuple[str, str, bytes]] = []
        self.reached = threading.Event()


class Echo(BaseHTTPRequestHandler):
    server: Upstream

    def echo(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        self.server.seen.append((self.command, self.path, body))
        self.server.reached.set()
        self.send_response(201)
        self.send_header('X-Host', self.headers['Host'])
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = echo  # noqa: N815

    def log_message(self, format, *args):  # noqa: A002
        """Print nothing."""


@pytest.fixture
def upstream():
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def between(upstream):
    made = Proxy(f'http://127.0.0.1:{upstream.server_port}/v2')
    yield made
    made.close()


def put(proxy, path='/members', timeout=LONG_S):
    return requests.put(
        f'{proxy.url}{path}', data='{"a": 1}', timeout=timeout, headers={'User-Agent': 'worker'}
    )


def test_request_without_fault_is_forwarded_unchanged(between, upstream):
    """Requests and responses pass unchanged, with the host name of the proxy."""
    response = put(between, '/members?additive_only=true')

    assert (response.status_code, response.json()) == (201, {'a': 1})
    assert response.headers['X-Host'] == f'127.0.0.1:{between.server_port}'
    assert upstream.seen == [('PUT', '/v2/members?additive_only=true', b'{"a": 1}')]
    assert between.requests == [('PUT', '/v2/members?additive_only=true', 'worker')]


def test_inject_affects_given_number_of_matching_requests(between, upstream):
    """A fault applies to the given number of matching requests and to no others."""
    rule = between.inject(respond(429, Retry_After='7'), 'PUT', '/members$', times=2)

    responses = [put(between, '/pools'), put(between), put(between), put(between)]

    assert [response.status_code for response in responses] == [201, 429, 429, 201]
    assert responses[1].headers['Retry-After'] == '7'
    assert rule.hits == 2
    assert len(upstream.seen) == 2
    assert len(matching(between.requests, 'PUT', '/members')) == 3


@pytest.mark.parametrize(('fault', 'received'), [(reset, 0), (reply_lost, 1)])
def test_service_receives_request_whose_reply_is_lost_alone(between, upstream, fault, received):
    """The service handles a request whose reply is lost, and not one that is reset."""
    between.inject(fault)

    with pytest.raises(requests.ConnectionError, match='reset by peer'):
        put(between)

    assert len(upstream.seen) == received


def test_slow_forwards_request_before_client_times_out(between, upstream):
    """A client can time out although the service has handled its request."""
    between.inject(slow(LONG_S))

    with pytest.raises(requests.ReadTimeout):
        put(between, timeout=SHORT_S)

    assert upstream.reached.wait(LONG_S)


def test_held_request_continues_after_release(between, upstream):
    """A held request continues after its release, and other requests pass meanwhile."""
    released = threading.Event()
    between.inject(held(released), 'PUT')
    responses: list[int] = []
    client = threading.Thread(target=lambda: responses.append(put(between).status_code))
    client.start()

    other = requests.get(between.url, timeout=LONG_S)
    assert (other.status_code, responses) == (201, [])
    released.set()
    client.join()

    assert responses == [201]
