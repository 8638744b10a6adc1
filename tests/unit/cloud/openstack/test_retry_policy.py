"""Retries: which errors are retried, how long, and the reason that follows."""

import re
import time
from types import SimpleNamespace

import pytest

from placement_worker import errors
from placement_worker.cloud import time_budget
from placement_worker.cloud.openstack import retry_policy
from placement_worker.cloud.openstack.retry_policy import LookupBudget, RetryPolicy, Service
from placement_worker.errors import ServiceFailed
from tests.unit.cloud.fake_services import REGION_LIST, ZONES, reset, respond

BROKEN = {'computeFault': {'message': 'Unexpected API Error.'}}
BUSY = {'overLimit': {'message': 'Slow down', 'details': ''}}
INVALID = 'U sent an invalid response: '


COMPUTE = Service.lets('Compute', None, 'list servers')


TRANSIENT = [
    (respond(500, BROKEN), 'HTTP 500 Internal Server Error from U: Unexpected API Error'),
    (respond(502, '<html>'), 'HTTP 502 Bad Gateway from U'),
    (respond(503), 'HTTP 503 Service Unavailable from U'),
    (respond(504, 'null'), 'HTTP 504 Gateway Timeout from U'),
    (respond(429, BUSY), 'HTTP 429 Too Many Requests from U: Slow down'),
    (reset, 'U: the connection was closed without a response'),
    (respond(200, '{"availabilityZo'), f'{INVALID}Input data was truncated'),
    (respond(200, b'\xff\xfe'), f'{INVALID}JSON is malformed: invalid character (byte 0)'),
    (respond(200, {'zones': []}), f'{INVALID}Object missing required field `availabilityZoneInfo`'),
]


@pytest.mark.parametrize(('fault', 'cause'), TRANSIENT)
def test_call_with_transient_error_is_retried_a_few_times(cloud, services, waits, fault, cause):
    """The reason names service, number of attempts, duration, cause and region."""
    services.fail(ZONES, fault, fault)
    assert cloud.zones(None) == {'az1': True, 'az2': False}
    assert (services.count(ZONES), len(waits)) == (3, 2)
    services.fail(ZONES, *[fault] * 4)

    with pytest.raises(ServiceFailed) as failed:
        cloud.zones(None)

    reason = re.sub(r' in [\d.]+ s:', ' in T s:', str(failed.value)).replace(services.url, 'U')
    assert (
        reason == f'Compute service unavailable after 4 attempts in T s: {cause} (region RegionOne)'
    )


@pytest.mark.parametrize(
    ('status', 'advice'),
    [
        (401, 'check that the service validates tokens at the same Keystone'),
        (403, 'check that the roles of the trust .* let it list availability zones'),
        (404, 'check that the endpoint in the catalog leads to this service; openstack catalog'),
        (501, ''),
        (301, ''),
    ],
)
def test_call_refused_is_not_retried(cloud, services, waits, status, advice):
    """A refused request is not retried, and the reason says what to check."""
    services.fail(ZONES, *[respond(status, {'forbidden': {'message': 'No.', 'code': status}})] * 2)

    with pytest.raises(
        ServiceFailed, match=f'^Compute service refused the request: HTTP {status} .*: No.*{advice}'
    ):
        cloud.zones(None)

    assert services.count(ZONES) == (2 if status == 401 else 1), (
        'after 401 keystoneauth repeats the request with another token'
    )
    assert waits == []


@pytest.mark.parametrize(
    ('path', 'ask', 'rights'),
    [
        (REGION_LIST, lambda cloud: cloud.regions(), 'list regions'),
        ('/networks', lambda cloud: cloud.network(None, 'n'), 'list networks and subnets'),
    ],
)
def test_call_forbidden_names_the_missing_right(cloud, services, path, ask, rights):
    """The reason says what the roles of the trust must allow, and the region unless shared."""
    services.fail(path, respond(403))

    with pytest.raises(ServiceFailed, match=f'let it {rights}') as failed:
        ask(cloud)

    assert ('(region RegionOne)' in str(failed.value)) == (path == '/networks')


@pytest.mark.parametrize(
    ('asked', 'least_s', 'most_s'),
    [('7', 7, 7), ('Thu, 01 Jan 2026 00:00:07 GMT', 7, 7), ('0', 0.18, 0.32)],
)
def test_call_with_retry_after_waits_as_requested(cloud, services, waits, asked, least_s, most_s):
    """Retry-After, as seconds or as a date, sets the wait unless the own wait is longer."""
    services.fail(ZONES, respond(429, Retry_After=asked, Date='Thu, 01 Jan 2026 00:00:00 GMT'))

    cloud.zones(None)

    (wait_s,) = waits
    assert least_s <= wait_s <= most_s


def test_call_with_retry_after_beyond_budget_fails_at_once(cloud, services, waits):
    """A wait that exceeds the time budget is not started."""
    services.fail(ZONES, respond(503, Retry_After='3600'))

    with pytest.raises(ServiceFailed, match=r'after 1 attempt in .* retry after 3600 s'):
        cloud.zones(None)

    assert waits == []


@pytest.mark.parametrize(
    ('left_s', 'retry_after', 'kind'),
    [
        (1, '7', errors.OutOfTime),
        (1, '3600', errors.ServiceFailed),
        (60, '3600', errors.ServiceFailed),
    ],
)
def test_call_out_of_time_raises_out_of_time(cloud, services, left_s, retry_after, kind):
    """OutOfTime is raised only if a caller with more time could succeed."""
    services.fail(ZONES, respond(503, Retry_After=retry_after))

    with pytest.raises(ServiceFailed) as failed, time_budget.until(time.monotonic() + left_s):
        cloud.zones(None)

    assert failed.type is kind


def test_call_after_deadline_sends_no_request():
    """A request after the deadline fails without an attempt."""
    calls = []

    with (
        time_budget.until(time.monotonic() - 1),
        pytest.raises(errors.OutOfTime, match='Compute service not called: no time left'),
    ):
        RetryPolicy().call(COMPUTE, lambda: calls.append(1))

    assert not calls


def test_lookup_budget_counts_time_inside_blocks_only(monkeypatch):
    """The budget is reduced by the duration of each block, and time between blocks is free."""
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=100)
    for module in (time_budget, retry_policy):
        monkeypatch.setattr(module, 'time', clock)
    budget = LookupBudget(10)
    with budget.spending():
        first = time_budget.left_s()
        clock.now += 2
    clock.now += 3
    with budget.spending():
        second = time_budget.left_s()

    assert (first, second) == (10, 8)
