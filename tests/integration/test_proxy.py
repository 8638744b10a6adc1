"""The proxy injects the given faults and no others."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from tests.integration.cloud import Cloud
from tests.integration.faults import garbage, hanging, held, reply_lost, reset, respond, slow
from tests.integration.proxy import Proxy
from tests.integration.service import matching

SHORT_S = 0.2
LONG_S = 60


class Upstream(ThreadingHTTPServer):
    """A service that records requests and returns their bodies."""

    def __init__(self) -> None:
        super().__init__(('127.0.0.1', 0), Echo)
        self.seen: list[tuple[str, str, bytes]] = []
        self.reached = threading.Event()


class Echo(BaseHTTPRequestHandler):
    server: Upstream

    def echo(self) -> None:
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        self.server.seen.append((self.command, self.path, body))
        self.server.reached.set()
        self.send_response(201)
        self.send_header('X-Host', self.headers['Host'])
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = echo  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def between(upstream: Upstream) -> Iterator[Proxy]:
    made = Proxy(f'http://127.0.0.1:{upstream.server_port}/v2')
    yield made
    made.close()


def put(proxy: Proxy, path: str = '/members', timeout: float = LONG_S) -> requests.Response:
    return requests.put(
        f'{proxy.url}{path}', data='{"a": 1}', timeout=timeout, headers={'User-Agent': 'worker'}
    )


def test_request_without_fault_is_forwarded_unchanged(between: Proxy, upstream: Upstream) -> None:
    """Requests and responses pass unchanged, with the host name of the proxy."""
    response = put(between, '/members?additive_only=true')

    assert (response.status_code, response.json()) == (201, {'a': 1})
    assert response.headers['X-Host'] == f'127.0.0.1:{between.server_port}'
    assert upstream.seen == [('PUT', '/v2/members?additive_only=true', b'{"a": 1}')]
    assert between.requests == [('PUT', '/v2/members?additive_only=true', 'worker')]


@pytest.mark.parametrize('status', [429, 500, 502, 503, 504])
def test_inject_affects_given_number_of_matching_requests(
    between: Proxy, upstream: Upstream, status: int
) -> None:
    """A fault applies to the given number of matching requests and to no others."""
    rule = between.inject(respond(status, Retry_After='7'), 'PUT', '/members$', times=2)

    responses = [put(between, '/pools'), put(between), put(between), put(between)]

    assert [response.status_code for response in responses] == [201, status, status, 201]
    assert responses[1].headers['Retry-After'] == '7'
    assert rule.hits == 2
    assert len(upstream.seen) == 2
    assert len(matching(between.requests, 'PUT', '/members')) == 3


def test_reset_hides_request_from_service(between: Proxy, upstream: Upstream) -> None:
    """The service does not receive a request whose connection is reset."""
    between.inject(reset)

    with pytest.raises(requests.ConnectionError, match='reset by peer'):
        put(between)

    assert upstream.seen == []


def test_reply_lost_forwards_request(between: Proxy, upstream: Upstream) -> None:
    """The service handles a request whose reply is lost."""
    between.inject(reply_lost)

    with pytest.raises(requests.ConnectionError, match='reset by peer'):
        put(between)

    assert len(upstream.seen) == 1


def test_garbage_claims_to_be_json(between: Proxy) -> None:
    """A malformed response has the content type of JSON."""
    between.inject(garbage)

    response = put(between)

    assert response.headers['Content-Type'] == 'application/json'
    with pytest.raises(requests.JSONDecodeError):
        response.json()


def test_hanging_lets_client_time_out(between: Proxy, upstream: Upstream) -> None:
    """A client can time out while a request hangs, and the service does not receive it."""
    between.inject(hanging)

    with pytest.raises(requests.ReadTimeout):
        put(between, timeout=SHORT_S)

    between.close()
    assert upstream.seen == []


def test_slow_forwards_request_before_client_times_out(between: Proxy, upstream: Upstream) -> None:
    """A client can time out although the service has handled its request."""
    between.inject(slow(LONG_S))

    with pytest.raises(requests.ReadTimeout):
        put(between, timeout=SHORT_S)

    assert upstream.reached.wait(LONG_S)


def test_held_request_continues_after_release(between: Proxy, upstream: Upstream) -> None:
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


def test_heal_removes_faults(between: Proxy) -> None:
    """All requests pass after the faults are removed."""
    between.inject(respond(500), times=float('inf'))
    assert [put(between).status_code for _ in range(3)] == [500] * 3

    between.heal()

    assert put(between).status_code == 201


def test_catalog_points_to_proxy_during_test(openstack: Cloud, proxy: Callable[..., Proxy]) -> None:
    """Clients find the proxy in the catalog."""
    before = openstack.url('compute')
    made = proxy('compute')
    made.inject(respond(503), 'GET', '/os-availability-zone')
    nova = openstack.connect('demo').compute

    assert openstack.url('compute') == made.url != before
    assert nova.get('/os-availability-zone').status_code == 503
    assert nova.get('/os-availability-zone').status_code == 200
    assert len(matching(made.requests, 'GET', '/v2.1/os-availability-zone$')) == 2


def test_trust_and_load_balancers_work_through_proxies(
    openstack: Cloud, proxy: Callable[..., Proxy]
) -> None:
    """Proxies for Keystone and Octavia work together."""
    keystone, octavia = proxy('identity'), proxy('load-balancer')
    trusted = openstack.connect_by_trust(openstack.make_trust(), auth_url=keystone.url)

    assert list(trusted.load_balancer.load_balancers(name='none')) == []

    assert matching(keystone.requests, 'POST', '/v3/auth/tokens')
    assert matching(octavia.requests, 'GET', '/lbaas/loadbalancers')
