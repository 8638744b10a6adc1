"""Clouds over fake OpenStack services."""

import ssl
import subprocess

import pytest

from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.sessions import Access, Sessions
from tests.unit.cloud.fake_services import SERVICE_ID, TRUST


@pytest.fixture
def cloud(clouds):
    return clouds.acting_for(TRUST, 'project-a')


@pytest.fixture
def ask(services):
    """Send a request to a service; return the request id that it received."""
    sessions = Sessions(Access(lambda trust_id: None, None, [], {}), RetryPolicy(), 1)
    url = f'{services.url}/v2/lbaas/pools?name=secret'

    def echo(handler):
        received = handler.headers['X-OpenStack-Request-ID'] or 'none'
        handler.reply(200, received, X_OpenStack_Request_ID=SERVICE_ID)

    def send(**more):
        services.fail('/pools', echo)
        return sessions.session_of('trust').get(url, authenticated=False, **more).text

    yield send
    sessions.connections.close()


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
