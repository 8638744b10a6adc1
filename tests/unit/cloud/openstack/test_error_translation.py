"""The reasons that follow from errors of libraries and services."""

import logging

import msgspec
import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.openstack import error_translation
from placement_worker.errors import Rejected, ServiceFailed
from tests.unit.cloud.conftest import PASSWORD
from tests.unit.cloud.fake_services import TOKENS, TRUST, ZONES, reset, respond


def test_translate_of_certificate_error_names_option(make_clouds, certificate):
    """An error about a certificate names the option to check."""
    with pytest.raises(
        ServiceFailed,
        match=r'Identity service unavailable .*certificate verify failed.*check cafile',
    ):
        make_clouds().acting_for(TRUST, 'project-a')


def test_translate_of_refused_connection_names_cause(make_clouds, services):
    """A refused connection is retried, and the reason contains the message of the system."""
    services.close()

    with pytest.raises(
        ServiceFailed,
        match=r'Identity service unavailable after 4 attempts .*: Connection refused$',
    ):
        make_clouds().acting_for(TRUST, 'project-a')


def test_reasons_and_log_contain_no_secret(clouds, services, caplog):
    """Neither the log nor a reason contains a token, a password or a trust id."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, name)
    reasons = []
    for fault in (None, reset, respond(401), respond(403), respond(500), respond(200, 'x')):
        services.fail(ZONES, *[fault] * 9 if fault else [])
        try:
            clouds.acting_for(TRUST, 'project-a').zones(None)
        except ServiceFailed as exc:
            reasons.append(str(exc))
        services.faults.clear()
    del services.trusts['trust-a']
    with pytest.raises(ServiceFailed) as failed:
        clouds.acting_for(TRUST, 'project-a').zones(None)

    written = caplog.text + ''.join(reasons) + str(failed.value)
    assert len(reasons) == 5
    assert 'GET' in caplog.text
    for secret in ('secret-token', PASSWORD, 'trust-a'):
        assert secret not in written


KEYS = ('token', 'id', 'expires_at', 'catalog', 'availabilityZoneInfo', 'error', 'message')
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


STATUS = st.sampled_from([200, 201, 300, 400, 401, 404, 409, 500])


@settings(max_examples=60)
@given(
    st.sampled_from([TOKENS, ZONES]),
    STATUS,
    st.binary(max_size=40) | SHAPES.map(msgspec.json.encode),
)
def test_lookup_with_arbitrary_response_returns_zones_or_reason(
    make_clouds, services, path, status, body
):
    """Any response leads to a result or to a reason without secrets."""
    services.fail(path, *[respond(status, body, X_Subject_Token='secret-token')] * 3)

    try:
        zones = make_clouds(max_attempts=1).acting_for(TRUST, 'project-a').zones(None)
    except Rejected as exc:
        zones, reason = {}, str(exc)
    else:
        reason = ''
    services.faults.clear()

    assert 'secret-token' not in reason
    assert all(isinstance(up, bool) for up in zones.values())


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        (b'{"error": {"message": "No. "}}', ': No'),
        (b'{"faultstring": "Not\\n so"}', ': Not so'),
        (b'{"a": [{"b": {"detail": "deep"}}]}', ': deep'),
        (b'{"message": ""}', ''),
        (b'<html>', ''),
        (b'{"message": "' + b'x' * 400 + b'"}', ': ' + 'x' * 300 + '...'),
    ],
)
def test_from_response_quotes_message_of_service(body, text):
    """An error contains status, origin and the shortened message of the service."""
    response = requests.Response()
    response.status_code, response.reason, response._content = 409, 'Conflict', body
    response.url = 'http://user:password@nova:8774/v2?token=secret'
    response.headers['Content-Type'] = 'application/json'

    error = error_translation.from_response(response)

    assert str(error) == f'HTTP 409 Conflict from http://nova:8774{text}'
    assert error.status == 409


def test_origin_without_url_names_no_host():
    """An error without a URL still reads as a sentence."""
    assert error_translation.origin(None) == 'the service'
