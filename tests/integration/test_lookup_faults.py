"""Faults between the worker and Keystone or Nova."""

import logging
import time

import pytest

from tests.integration import faults, seeding
from tests.integration.checks import TOKENS, ZONES, decided, refused, scale_out, sent
from tests.integration.proxy import Fault

ALWAYS = float('inf')
BUDGET_S = 2
SLACK_S = 30  # for a loaded machine; without its budget, a lookup would take 60 s
FAULTS: dict[str, tuple[Fault, str]] = {
    'reset': (faults.reset, 'Connection reset by peer'),
    'reply lost': (faults.reply_lost, 'Connection reset by peer'),
    'garbage': (faults.garbage, 'sent an invalid response'),
    '429': (faults.respond(429), 'HTTP 429 Too Many Requests'),
    '500': (faults.respond(500), 'HTTP 500 Internal Server Error'),
    '503': (faults.respond(503), 'HTTP 503 Service Unavailable'),
}
SLOW: dict[str, Fault] = {'hanging': faults.hanging, 'slow': faults.slow(60)}
SERVICES = {'identity': (TOKENS, 'Identity'), 'compute': (ZONES, 'Compute')}
each_service = pytest.mark.parametrize(
    ('service', 'target', 'name'), [(s, *rest) for s, rest in SERVICES.items()]
)


@pytest.fixture
def logged(caplog):
    """The log of all libraries at all levels."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, name)
    return caplog


@each_service
@pytest.mark.parametrize(('fault', 'cause'), FAULTS.values(), ids=FAULTS)
def test_fault_is_retried_until_attempts_are_used_up(
    openstack, make_endpoints, trust, proxy, logged, service, target, name, fault, cause
):
    """A transient fault is retried, and the reason of a lasting one names service and cause."""
    between, trust_id = proxy(service), trust()
    auth_url = between.url if service == 'identity' else None
    passing, lasting = (make_endpoints(auth_url=auth_url) for _ in range(2))

    logged.clear()  # creating the trust was logged too
    rule = between.inject(fault, target=target, times=2)
    decided(passing.policy_check(scale_out(openstack, trust_id)))
    assert rule.hits == 2
    rule = between.inject(fault, target=target, times=ALWAYS)
    reason = refused(lasting.policy_check(scale_out(openstack, trust_id)))

    assert reason.startswith(f'{name} service unavailable after 4 attempts in ')
    assert cause in reason
    assert rule.hits == 4
    for secret in (trust_id, seeding.PASSWORD, 'gAAAA'):
        assert secret not in reason + logged.text


@each_service
@pytest.mark.parametrize('fault', SLOW.values(), ids=SLOW)
def test_slow_service_delays_check_by_at_most_the_budget(
    openstack, make_endpoints, trust, proxy, service, target, name, fault
):
    """A slow service delays a check at most by its time budget."""
    between, asked = proxy(service), scale_out(openstack, trust())
    endpoints = make_endpoints(
        auth_url=between.url if service == 'identity' else None, lookup_budget_s=BUDGET_S
    )
    between.inject(fault, target=target, times=ALWAYS)
    started = time.monotonic()

    reason = refused(endpoints.policy_check(asked))

    assert time.monotonic() - started < BUDGET_S + SLACK_S
    assert reason.startswith(f'{name} service unavailable after 1 attempt in ')
    assert 'did not respond in time' in reason


def test_retry_after_is_respected(openstack, make_endpoints, trust, proxy):
    """A request is retried after the delay that the service requests."""
    between, asked = proxy('compute'), scale_out(openstack, trust())
    between.inject(faults.respond(429, Retry_After='1'), target=ZONES)
    started = time.monotonic()

    decided(make_endpoints().policy_check(asked))

    assert time.monotonic() - started >= 1


@pytest.mark.parametrize(
    ('status', 'advice'), [(403, 'check that the roles'), (404, 'check that the endpoint')]
)
def test_refused_request_is_not_retried(openstack, make_endpoints, trust, proxy, status, advice):
    """A refused request is sent once, and the reason says what to check."""
    between, asked = proxy('compute'), scale_out(openstack, trust())
    between.inject(faults.respond(status), target=ZONES, times=ALWAYS)

    reason = refused(make_endpoints().policy_check(asked))

    assert reason.startswith(f'Compute service refused the request: HTTP {status} ')
    assert advice in reason
    assert len(sent(between.requests, ZONES)) == 1


def test_token_refused_by_nova_is_replaced_once(openstack, make_endpoints, trust, proxy):
    """A refused token is replaced by a new one."""
    between, endpoints, asked = proxy('compute'), make_endpoints(), scale_out(openstack, trust())
    decided(endpoints.policy_check(asked))
    between.inject(faults.respond(401), target=ZONES)
    with openstack.services['keystone'].watch() as keystone:
        decided(endpoints.policy_check(asked))

    assert sent(keystone) == ['POST /v3/auth/tokens']
