"""The deadline of an exchange, whatever the service does."""

import logging
import socket
import time
from contextlib import contextmanager

import pytest
import requests
from urllib3.connection import HTTPConnection

from placement_worker.cloud import time_budget
from placement_worker.cloud.openstack import http
from placement_worker.cloud.ports import ApiError
from placement_worker.errors import ServiceFailed
from tests.unit.cloud.fake_services import SERVICE_ID, TOKENS, TRUST, ZONES, drip, hang

HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n'
BUDGET_S = 1
TLS_BUDGET_S = 4  # a loaded machine logs in slowly
SLACK_S = 5  # for a loaded machine
SLOW = {
    'no response': hang,
    'slow headers': drip(b'HTTP/1.1 200 OK\r\nX: '),
    'slow body': drip(HEAD + b'\r\n'),
    'slow body without an end': drip(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'),
}


@pytest.mark.parametrize('slow', SLOW.values(), ids=SLOW.keys())
@pytest.mark.parametrize('path', [TOKENS, ZONES, 'proxy'])
def test_lookup_at_slow_service_ends_with_budget(make_clouds, services, monkeypatch, slow, path):
    """A service or proxy that responds slowly or never delays a lookup at most by its budget."""
    if path == 'proxy':
        monkeypatch.setenv('http_proxy', services.url)
        monkeypatch.setenv('no_proxy', '')
    services.fail(ZONES if path == 'proxy' else path, *[slow] * 9)
    # On a loaded machine, a connection can take the whole budget.
    reason = '(Identity|Compute) service .*(not respond in time|no time left for lookups)'

    with ends_with_budget(), pytest.raises(ServiceFailed, match=reason):
        make_clouds(budget_s=BUDGET_S).acting_for(TRUST, 'project-a').zones(None)


@contextmanager
def ends_with_budget(budget_s=BUDGET_S):
    """Check that the block lasts no longer than the budget of a lookup."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < budget_s + SLACK_S


def slowed(call, seconds):
    def slow(*args, **options):
        result = call(*args, **options)
        time.sleep(seconds)
        return result

    return slow


def post_slowly(services, budget_s):
    """Send a request whose response arrives byte by byte; return the duration in seconds."""
    services.fail('/octavia/pools', drip(b'HTTP/1.1 202 Accepted\r\nContent-Length: 200\r\n\r\n'))
    with http.session() as session:  # which a loaded machine creates slowly
        started = time.monotonic()
        with (
            time_budget.until(started + budget_s),
            pytest.raises(requests.exceptions.Timeout),  # a connection can take the whole budget
        ):
            session.post(f'{services.url}/octavia/pools', json={}, timeout=60)
        return time.monotonic() - started


def test_deadline_before_connection_sends_no_request(services, monkeypatch):
    """No request is sent if the deadline passes before the connection is established."""
    monkeypatch.setattr(socket, 'getaddrinfo', slowed(socket.getaddrinfo, 0.6))

    post_slowly(services, 0.3)

    assert services.seen == []


def test_deadline_before_response_reads_nothing(services, monkeypatch):
    """No response is read if the deadline passes while the request is sent."""
    monkeypatch.setattr(HTTPConnection, 'request', slowed(HTTPConnection.request, 0.6))

    assert post_slowly(services, 0.3) < 0.6 + SLACK_S


@pytest.mark.parametrize('slow', SLOW.values(), ids=SLOW.keys())
def test_lookup_over_tls_ends_with_budget(make_clouds, services, certificate, slow):
    """The time budget holds for requests over TLS too."""
    services.fail(ZONES, slow)
    clouds = make_clouds(budget_s=TLS_BUDGET_S, verify=certificate)
    reason = r'Compute .* not respond in time'

    with ends_with_budget(TLS_BUDGET_S), pytest.raises(ServiceFailed, match=reason):
        clouds.acting_for(TRUST, 'project-a').zones(None)


def test_lookup_at_host_with_full_backlog_ends_with_budget(make_clouds, services):
    """A host that accepts no connection delays a lookup at most by its time budget."""
    with socket.create_server(('127.0.0.1', 0), backlog=0) as deaf:
        address = deaf.getsockname()
        with socket.create_connection(address), socket.socket() as waiting:
            waiting.setblocking(False)
            waiting.connect_ex(address)  # now its queue is full
            services.url = 'http://{}:{}'.format(*address)
            reason = r'Identity service unavailable after 1 attempt .* not respond in time'

            with ends_with_budget(), pytest.raises(ServiceFailed, match=reason):
                make_clouds(budget_s=BUDGET_S).acting_for(TRUST, 'project-a')


def test_call_without_response_ends_with_request_timeout(make_clouds, services):
    """A request ends after its own timeout even without a deadline."""
    clouds = make_clouds(request_timeout_s=3)  # a loaded machine logs in slowly
    octavia = clouds.acting_for(TRUST, 'project-a').octavia(None)
    octavia.find('pool')
    services.fail('/pools', hang)

    with pytest.raises(ApiError, match='not respond in time') as failed:
        octavia.find('pool')

    assert failed.value.status is None


def test_response_is_logged_with_request_id_of_service(ask, caplog):
    """The log contains the request id of the service, and no query of the URL."""
    name = 'placement_worker.cloud.openstack.http'
    caplog.set_level(logging.DEBUG, name)

    ask()

    (line,) = (record.getMessage() for record in caplog.records if record.name == name)
    assert line.startswith('GET http://127.0.0.1:')
    assert line.endswith(f'/v2/lbaas/pools: HTTP 200, request id {SERVICE_ID}')
