"""The proxy does the harm it is told to, and no other."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from tests.integration.cloud import Cloud
from tests.integration.faults import answered, garbage, hanging, held, reply_lost, reset, slow
from tests.integration.proxy import Proxy
from tests.integration.service import matching

SHORT_S = 0.2
LONG_S = 60


class Upstream(ThreadingHTTPServer):
    """Answers with what it was sent and keeps it."""

    def __init__(self) -> None:
        super().__init__(('127.0.0.1', 0), Echo)
        self.seen: list[tuple[str, str, bytes]] = []
        self.reached = threading.Event()


class Echo(BaseHTTPRequestHandler):
    server: Upstream

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        self.server.seen.append((self.command, self.path, body))
        self.server.reached.set()
        self.send_response(201)
        self.send_header('X-Host', self.headers['Host'])
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = answer  # noqa: N815

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
        f'{proxy.url}{path}', data='{"a": 1}', timeout=timeout, headers={'User-Agent': 'ours'}
    )


def test_requests_and_answers_pass_unchanged_under_the_host_of_the_proxy(
    between: Proxy, upstream: Upstream
) -> None:
    answer = put(between, '/members?additive_only=true')

    assert (answer.status_code, answer.json()) == (201, {'a': 1})
    assert answer.headers['X-Host'] == f'127.0.0.1:{between.server_port}'
    assert upstream.seen == [('PUT', '/v2/members?additive_only=true', b'{"a": 1}')]
    assert between.requests == [('PUT', '/v2/members?additive_only=true', 'ours')]


@pytest.mark.parametrize('status', [429, 500, 502, 503, 504])
def test_a_fault_meets_as_many_requests_as_told_and_only_those_like_it(
    between: Proxy, upstream: Upstream, status: int
) -> None:
    rule = between.inject(answered(status, Retry_After='7'), 'PUT', '/members$', times=2)

    answers = [put(between, '/pools'), put(between), put(between), put(between)]

    assert [answer.status_code for answer in answers] == [201, status, status, 201]
    assert answers[1].headers['Retry-After'] == '7'
    assert rule.hits == 2
    assert len(upstream.seen) == 2
    assert len(matching(between.requests, 'PUT', '/members')) == 3


def test_the_service_never_sees_what_was_reset(between: Proxy, upstream: Upstream) -> None:
    between.inject(reset)

    with pytest.raises(requests.ConnectionError, match='reset by peer'):
        put(between)

    assert upstream.seen == []


def test_the_service_did_what_the_lost_reply_was_about(between: Proxy, upstream: Upstream) -> None:
    between.inject(reply_lost)

    with pytest.raises(requests.ConnectionError, match='reset by peer'):
        put(between)

    assert len(upstream.seen) == 1


def test_garbage_claims_to_be_json(between: Proxy) -> None:
    between.inject(garbage)

    answer = put(between)

    assert answer.headers['Content-Type'] == 'application/json'
    with pytest.raises(requests.JSONDecodeError):
        answer.json()


def test_a_client_may_give_up_on_a_service_that_hangs(between: Proxy, upstream: Upstream) -> None:
    between.inject(hanging)

    with pytest.raises(requests.ReadTimeout):
        put(between, timeout=SHORT_S)

    between.close()
    assert upstream.seen == []


def test_a_client_may_give_up_on_a_slow_service_that_did_what_it_was_asked_for(
    between: Proxy, upstream: Upstream
) -> None:
    between.inject(slow(LONG_S))

    with pytest.raises(requests.ReadTimeout):
        put(between, timeout=SHORT_S)

    assert upstream.reached.wait(LONG_S)


def test_a_held_request_goes_on_when_it_is_released(between: Proxy, upstream: Upstream) -> None:
    released = threading.Event()
    between.inject(held(released), 'PUT')
    answers: list[int] = []
    client = threading.Thread(target=lambda: answers.append(put(between).status_code))
    client.start()

    other = requests.get(between.url, timeout=LONG_S)
    assert (other.status_code, answers) == (201, [])
    released.set()
    client.join()

    assert answers == [201]


def test_healed_it_only_passes_on(between: Proxy) -> None:
    between.inject(answered(500), times=float('inf'))
    assert [put(between).status_code for _ in range(3)] == [500] * 3

    between.heal()

    assert put(between).status_code == 201


def test_the_catalog_leads_through_the_proxy_until_the_test_ends(
    openstack: Cloud, proxy: Callable[..., Proxy]
) -> None:
    before = openstack.url('compute')
    made = proxy('compute')
    made.inject(answered(503), 'GET', '/os-availability-zone')
    nova = openstack.connect('demo').compute

    assert openstack.url('compute') == made.url != before
    assert nova.get('/os-availability-zone').status_code == 503
    assert nova.get('/os-availability-zone').status_code == 200
    assert len(matching(made.requests, 'GET', '/v2.1/os-availability-zone$')) == 2


def test_load_balancers_and_trusts_work_through_proxies(
    openstack: Cloud, proxy: Callable[..., Proxy]
) -> None:
    keystone, octavia = proxy('identity'), proxy('load-balancer')
    trusted = openstack.connect_by_trust(openstack.make_trust(), auth_url=keystone.url)

    assert list(trusted.load_balancer.load_balancers(name='none')) == []

    assert matching(keystone.requests, 'POST', '/v3/auth/tokens')
    assert matching(octavia.requests, 'GET', '/lbaas/loadbalancers')
