"""Clouds over fake OpenStack services."""

import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.sessions import Access, Sessions
from tests.unit.cloud.fake_services import SERVICE_ID, TRUST


@pytest.fixture
def cloud(clouds):
    return clouds.acting_for(TRUST, 'project-a')


class EchoHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('X-OpenStack-Request-ID', SERVICE_ID)
        self.end_headers()
        self.wfile.write((self.headers['X-OpenStack-Request-ID'] or 'none').encode())

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def ask():
    """Send a request to a service; return the request id that it received."""
    server = HTTPServer(('127.0.0.1', 0), EchoHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    sessions = Sessions(Access(lambda trust_id: None, None, [], {}), RetryPolicy(), 1)
    url = f'http://127.0.0.1:{server.server_address[1]}/v2/lbaas/pools?name=secret'

    yield lambda **more: sessions.session_of('trust').get(url, authenticated=False, **more).text

    sessions.connections.close()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def certificate(services, tmp_path):
    """Switch the services to TLS; return the path of their certificate."""
    made, key = tmp_path / 'certificate.pem', tmp_path / 'key.pem'
    command = (
        'openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test '
        '-addext subjectAltName=IP:127.0.0.1'
    )
    subprocess.run(
        [*command.split(), '-keyout', key, '-out', made], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    services.socket = context.wrap_socket(services.socket, server_side=True)
    services.url = services.url.replace('http:', 'https:')
    return str(made)
