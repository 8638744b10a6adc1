"""One id joins a request with what the services of the cloud log about it."""

import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.sessions import Access, Sessions
from placement_worker.cloud.request_id import bound_request_id

OURS = 'req-0f3a1b2c-0d4e-4f56-8a9b-0c1d2e3f4a5b'
THEIRS = 'req-99999999-0d4e-4f56-8a9b-0c1d2e3f4a5b'


class Service(BaseHTTPRequestHandler):
    """Says under which id it was asked, and has one of its own."""

    def do_GET(self):
        self.send_response(200)
        self.send_header('X-OpenStack-Request-ID', THEIRS)
        self.end_headers()
        self.wfile.write((self.headers['X-OpenStack-Request-ID'] or 'none').encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def ask():
    """Ask a service on loopback through a session; returns the id that it was told."""
    server = HTTPServer(('127.0.0.1', 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    sessions = Sessions(Access(lambda trust_id: None, None, [], {}), RetryPolicy(), 1)
    url = f'http://127.0.0.1:{server.server_address[1]}/v2/lbaas/pools?name=secret'

    yield lambda **more: sessions.of('trust').get(url, authenticated=False, **more).text

    sessions.connections.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_service_is_told_the_id_of_the_request_that_is_handled(ask):
    with bound_request_id(OURS):
        assert ask() == OURS

    assert ask() == 'none'


def test_an_id_that_somebody_sets_himself_stays(ask):
    with bound_request_id(OURS):
        assert ask(global_request_id=THEIRS) == THEIRS


@pytest.mark.parametrize(
    'request_id',
    [
        None,
        '',
        'req-1',
        OURS.removeprefix('req-'),
        OURS.upper(),
        f'{OURS}\n',
        f'{OURS}-0',
        'größer',
    ],
)
def test_an_id_of_another_form_is_not_sent_as_services_would_drop_it(ask, request_id):
    with bound_request_id(request_id):
        assert ask() == 'none'


def test_of_requests_within_requests_the_inner_ones_id_is_sent_and_then_the_outer_ones_again(ask):
    with bound_request_id(OURS):
        with bound_request_id(THEIRS):
            assert ask() == THEIRS
        assert ask() == OURS


def test_the_id_of_the_services_log_is_logged_and_no_query(ask, caplog):
    caplog.set_level(logging.DEBUG, 'placement_worker.cloud.openstack.http')

    ask()

    (line,) = (
        record.getMessage()
        for record in caplog.records
        if record.name == 'placement_worker.cloud.openstack.http'
    )
    assert line.startswith('GET http://127.0.0.1:')
    assert line.endswith(f'/v2/lbaas/pools: HTTP 200, request id {THEIRS}')
