"""Whatever a service does, a check ends in time, with a reason that helps and holds no secret."""

import logging
import re
import socket
import ssl
import subprocess
import time

import msgspec
import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oslo_messaging._drivers import common
from urllib3.connection import HTTPConnection

from placement_worker import errors
from placement_worker.cloud import deadline
from placement_worker.cloud.openstack import http
from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.services import compute
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from placement_worker.errors import Rejected, ServiceFailed
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import zone_policy
from tests.unit.cloud.conftest import PASSWORD
from tests.unit.cloud.fake_services import answer, drip, hang, reset

TRUST = Credentials('trust-a')
TOKENS, ZONES = '/auth/tokens', '/os-availability-zone'
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n'
BUDGET_S = 1
SLACK_S = 5  # of a loaded machine


@pytest.fixture
def cloud(clouds):
    return clouds.acting_for(TRUST, 'project-a')


BROKEN = {'computeFault': {'message': 'Unexpected API Error.'}}
BUSY = {'overLimit': {'message': 'Slow down', 'details': ''}}
NONSENSE = 'U sent an invalid response: '
PASSING = [
    (answer(500, BROKEN), 'HTTP 500 Internal Server Error from U: Unexpected API Error'),
    (answer(502, '<html>'), 'HTTP 502 Bad Gateway from U'),
    (answer(503), 'HTTP 503 Service Unavailable from U'),
    (answer(504, 'null'), 'HTTP 504 Gateway Timeout from U'),
    (answer(429, BUSY), 'HTTP 429 Too Many Requests from U: Slow down'),
    (reset, 'U: the connection was closed without a response'),
    (answer(200, '{"availabilityZo'), f'{NONSENSE}Input data was truncated'),
    (answer(200, b'\xff\xfe'), f'{NONSENSE}JSON is malformed: invalid character (byte 0)'),
    (answer(200, {'zones': []}), f'{NONSENSE}Object missing required field `availabilityZoneInfo`'),
]


@pytest.mark.parametrize(('fault', 'cause'), PASSING)
def test_what_may_pass_is_tried_again_until_it_does(cloud, services, naps, fault, cause):
    services.fail(ZONES, fault, fault)

    assert cloud.zones(None) == {'az1': True, 'az2': False}
    assert services.count(ZONES) == 3
    assert len(naps) == 2


@pytest.mark.parametrize(('fault', 'cause'), PASSING)
def test_what_does_not_pass_is_told_with_service_and_cause(cloud, services, fault, cause):
    services.fail(ZONES, *[fault] * 4)

    with pytest.raises(ServiceFailed) as failed:
        cloud.zones(None)

    told = re.sub(r' in [\d.]+ s:', ' in T s:', str(failed.value)).replace(services.url, 'U')
    assert (
        told == f'Compute service unavailable after 4 attempts in T s: {cause} (region RegionOne)'
    )


@pytest.mark.parametrize(
    ('status', 'advice'),
    [
        (401, 'check that the service validates tokens at the same Keystone'),
        (403, 'check that the roles of the trust .* let it list availability zones'),
        (
            404,
            r'check that the endpoint in the catalog \(`openstack catalog list`\) leads to this service',
        ),
        (501, ''),
        (301, ''),
    ],
)
def test_what_does_not_pass_by_itself_is_not_tried_again_and_says_what_to_check(
    cloud, services, naps, status, advice
):
    services.fail(ZONES, *[answer(status, {'forbidden': {'message': 'No.', 'code': status}})] * 2)

    with pytest.raises(
        ServiceFailed, match=f'^Compute service refused the request: HTTP {status} .*: No.*{advice}'
    ):
        cloud.zones(None)

    assert services.count(ZONES) == (2 if status == 401 else 1), (
        'after 401 once more, with a new token'
    )
    assert naps == []


@pytest.mark.parametrize(
    ('path', 'fault', 'reason'),
    [
        (ZONES, answer(503), 'Compute service unavailable after 4 attempts'),
        (ZONES, answer(403), 'Compute service refused the request: HTTP 403'),
        (TOKENS, answer(401), 'Identity service refused the request: HTTP 401'),
    ],
)
def test_whoever_has_a_spec_validated_over_the_bus_is_told_which_service_failed(
    clouds, services, path, fault, reason
):
    services.fail(path, *[fault] * 4)
    asked = {'spec': zone_policy('az1')['spec'], 'check_resources': True}

    with pytest.raises(errors.CloudUnavailable, match=f'^{reason}') as failed:
        Endpoints(clouds, Registry.installed()).policy_validate(asked)

    sent = common.serialize_remote_exception((failed.type, failed.value, failed.tb))
    got = common.deserialize_remote_exception(sent, [errors.__name__])
    assert isinstance(got, errors.CloudUnavailable)
    assert got.args == (str(failed.value),)


@pytest.mark.parametrize('asked', ['7', 'Thu, 01 Jan 2026 00:00:07 GMT'])
def test_a_service_may_say_how_long_to_wait(cloud, services, naps, asked):
    services.fail(ZONES, answer(429, Retry_After=asked, Date='Thu, 01 Jan 2026 00:00:00 GMT'))

    cloud.zones(None)

    assert naps == [7]


def test_a_wait_that_leaves_no_time_is_not_waited_for(cloud, services, naps):
    services.fail(ZONES, answer(503, Retry_After='3600'))

    with pytest.raises(ServiceFailed, match=r'after 1 attempt in .* retry after 3600 s'):
        cloud.zones(None)

    assert naps == []


SLOW = {
    'no answer': hang,
    'a slow head': drip(b'HTTP/1.1 200 OK\r\nX: '),
    'a slow body': drip(HEAD + b'\r\n'),
    'a slow body without an end': drip(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'),
}


@pytest.mark.parametrize(
    ('left_s', 'retry_after', 'kind'),
    [
        (1, '7', errors.OutOfTime),
        (1, '3600', errors.ServiceFailed),
        (60, '3600', errors.ServiceFailed),
    ],
)
def test_whether_more_time_would_help_is_told_apart_from_a_service_that_stays_away(
    cloud, services, left_s, retry_after, kind
):
    services.fail(ZONES, answer(503, Retry_After=retry_after))

    with pytest.raises(ServiceFailed) as failed, deadline.until(time.monotonic() + left_s):
        cloud.zones(None)

    assert failed.type is kind


@pytest.mark.parametrize('slow', SLOW.values(), ids=SLOW.keys())
@pytest.mark.parametrize('path', [TOKENS, ZONES])
def test_nobody_is_waited_for_longer_than_the_budget(make_clouds, services, slow, path):
    services.fail(path, *[slow] * 9)
    started = time.monotonic()

    with pytest.raises(
        ServiceFailed,
        match=r'(Identity|Compute) service unavailable after 1 attempt in .* s: .* not respond in time',
    ):
        make_clouds(budget_s=BUDGET_S).acting_for(TRUST, 'project-a').zones(None)

    assert time.monotonic() - started < BUDGET_S + SLACK_S


def test_an_http_proxy_on_the_way_makes_no_difference(make_clouds, services, monkeypatch):
    monkeypatch.setenv('http_proxy', services.url)
    monkeypatch.setenv('no_proxy', '')
    services.fail(ZONES, SLOW['a slow head'])
    started = time.monotonic()

    with pytest.raises(ServiceFailed, match='not respond in time'):
        make_clouds(budget_s=BUDGET_S).acting_for(TRUST, 'project-a').zones(None)

    assert time.monotonic() - started < BUDGET_S + SLACK_S


def slowed(call, seconds):
    """The same, but it takes longer."""

    def slow(*args, **options):
        result = call(*args, **options)
        time.sleep(seconds)
        return result

    return slow


def ask_in_vain(services, budget_s):
    """Send what is answered a byte at a time; returns how long that took."""
    services.fail('/octavia/pools', drip(b'HTTP/1.1 202 Accepted\r\nContent-Length: 200\r\n\r\n'))
    started = time.monotonic()
    with (
        http.session() as session,
        deadline.until(started + budget_s),
        pytest.raises(requests.exceptions.ReadTimeout),
    ):
        session.post(f'{services.url}/octavia/pools', json={}, timeout=60)
    return time.monotonic() - started


def test_nothing_is_sent_when_the_time_is_up_before_there_is_a_connection(services, monkeypatch):
    monkeypatch.setattr(socket, 'getaddrinfo', slowed(socket.getaddrinfo, 0.6))

    ask_in_vain(services, 0.3)

    assert services.seen == []


def test_no_answer_is_read_when_the_time_is_up_before_it_begins(services, monkeypatch):
    monkeypatch.setattr(HTTPConnection, 'request', slowed(HTTPConnection.request, 0.6))

    assert ask_in_vain(services, 0.3) < 0.6 + SLACK_S


@pytest.fixture
def certificate(services, tmp_path):
    """The file with the certificate that the services show from now on."""
    made, key = tmp_path / 'certificate.pem', tmp_path / 'key.pem'
    command = 'openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1'
    subprocess.run(
        [*command.split(), '-keyout', key, '-out', made], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    services.socket = context.wrap_socket(services.socket, server_side=True)
    services.url = services.url.replace('http:', 'https:')
    return str(made)


@pytest.mark.parametrize('slow', SLOW.values(), ids=SLOW.keys())
def test_tls_makes_no_difference(make_clouds, services, certificate, slow):
    services.fail(ZONES, slow)
    started = time.monotonic()

    with pytest.raises(ServiceFailed, match=r'Compute .* not respond in time'):
        make_clouds(budget_s=BUDGET_S, verify=certificate).acting_for(TRUST, 'project-a').zones(
            None
        )

    assert time.monotonic() - started < BUDGET_S + SLACK_S


def test_a_certificate_that_is_not_trusted_is_told_with_the_option_that_names_it(
    make_clouds, certificate
):
    with pytest.raises(
        ServiceFailed,
        match=r'Identity service unavailable .*certificate verify failed.*check cafile',
    ):
        make_clouds().acting_for(TRUST, 'project-a')


def test_a_host_that_takes_no_connection_is_not_waited_for_longer_than_the_budget(
    make_clouds, services
):
    with socket.create_server(('127.0.0.1', 0), backlog=0) as deaf:
        address = deaf.getsockname()
        with socket.create_connection(address), socket.socket() as waiting:
            waiting.setblocking(False)
            waiting.connect_ex(address)  # now its queue is full
            services.url = 'http://{}:{}'.format(*address)
            started = time.monotonic()

            with pytest.raises(
                ServiceFailed,
                match=r'Identity service unavailable after 1 attempt .* not respond in time',
            ):
                make_clouds(budget_s=BUDGET_S).acting_for(TRUST, 'project-a')

    assert time.monotonic() - started < BUDGET_S + SLACK_S


def test_a_host_that_refuses_connections_is_told(make_clouds, services):
    services.close()

    with pytest.raises(
        ServiceFailed,
        match=r'Identity service unavailable after 4 attempts .*: Connection refused$',
    ):
        make_clouds().acting_for(TRUST, 'project-a')


def test_all_look_ups_of_a_check_share_one_budget(make_clouds, services):
    cloud = make_clouds(budget_s=BUDGET_S).acting_for(TRUST, 'project-a')
    services.fail(ZONES, hang)
    with pytest.raises(ServiceFailed, match='not respond in time'):
        cloud.zones(None)

    with pytest.raises(
        ServiceFailed, match='Identity service not called: no time left for lookups'
    ):
        cloud.regions()

    assert services.count('/regions') == 0


@pytest.mark.parametrize('status', [401, 403, 404])
def test_a_refused_log_in_is_not_tried_again(clouds, services, naps, status):
    services.fail(TOKENS, answer(status, {'error': {'message': 'No trust-a here.'}}))

    with pytest.raises(
        ServiceFailed,
        match=f'Identity service refused the request: HTTP {status} .*: No [*]{{3}} here; check that the trust',
    ):
        clouds.acting_for(TRUST, 'project-a')

    assert (services.count(TOKENS), naps) == (1, [])


@pytest.mark.parametrize(
    'fault', [answer(503), reset, answer(201, '{"tok'), answer(201, {'token': {}}), answer(201, [])]
)
def test_a_log_in_is_tried_again_too(clouds, services, fault):
    services.fail(TOKENS, fault, fault)

    assert clouds.acting_for(TRUST, 'project-a').zones(None)
    assert services.count(TOKENS) == 3


def test_no_secret_reaches_a_reason_or_the_log(clouds, services, caplog):
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, name)
    reasons = []
    for fault in (None, reset, answer(401), answer(403), answer(500), answer(200, 'x')):
        services.fail(ZONES, *[fault] * 9 if fault else [])
        try:
            clouds.acting_for(TRUST, 'project-a').zones(None)
        except ServiceFailed as exc:
            reasons.append(str(exc))
        services.faults.clear()
    del services.trusts['trust-a']
    with pytest.raises(ServiceFailed) as failed:
        clouds.acting_for(TRUST, 'project-a').zones(None)

    told = caplog.text + ''.join(reasons) + str(failed.value)
    assert len(reasons) == 5
    assert 'GET' in caplog.text
    for secret in ('secret-token', PASSWORD, 'trust-a'):
        assert secret not in told


KEYS = (
    'token',
    'project',
    'id',
    'expires_at',
    'catalog',
    'availabilityZoneInfo',
    'zoneName',
    'error',
    'message',
    'title',
)
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
STATUS = st.sampled_from([200, 201, 300, 400, 401, 404, 409, 500])


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.sampled_from([TOKENS, ZONES]),
    STATUS,
    st.binary(max_size=40) | SHAPES.map(msgspec.json.encode),
)
def test_whatever_is_answered_is_an_answer_or_a_reason(make_clouds, services, path, status, body):
    services.fail(path, *[answer(status, body, X_Subject_Token='secret-token')] * 3)

    try:
        zones = make_clouds(max_attempts=1).acting_for(TRUST, 'project-a').zones(None)
    except Rejected as exc:
        zones, reason = {}, str(exc)
    else:
        reason = ''
    services.faults.clear()

    assert 'secret-token' not in reason
    assert all(isinstance(up, bool) for up in zones.values())


@given(
    answers=st.lists(st.one_of(st.none(), st.integers(400, 599)).flatmap(
        lambda status: st.one_of(st.none(), st.floats(0, 50)).map(lambda wait_s: (status, wait_s))), max_size=12),
    max_attempts=st.integers(1, 6),
)  # fmt: skip
def test_attempts_and_waits_stay_within_their_bounds(answers, max_attempts):
    naps, given = [], iter(answers)

    def call():
        for status, wait_s in given:
            raise ApiError('no', status, wait_s)
        return 'yes'

    try:
        outcome = RetryPolicy(max_attempts, 20, naps.append).call(compute(None), call)
    except ServiceFailed as exc:
        outcome = str(exc)

    assert len(naps) < max_attempts
    assert all(nap < 20 for nap in naps)
    if outcome != 'yes':
        last_status, _ = answers[len(naps)]
        assert ('refused' in outcome) is (
            last_status is not None
            and last_status != 429
            and not (last_status >= 500 and last_status != 501)
        )
