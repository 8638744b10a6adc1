"""Sessions: tokens, trusts and the request id."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.ports import bound_request_id
from placement_worker.contract.model import Credentials
from placement_worker.errors import ServiceFailed
from tests.unit.cloud.fake_services import (
    MANY,
    TOKENS,
    TRUST,
    WAIT_S,
    ZONES,
    at_once,
    hold,
    reset,
    respond,
)
from tests.waiting import wait_for

REQUEST_ID = 'req-0f3a1b2c-0d4e-4f56-8a9b-0c1d2e3f4a5b'
OTHER_ID = 'req-99999999-0d4e-4f56-8a9b-0c1d2e3f4a5b'


def test_log_in_with_expiring_token_gets_another(clouds, services):
    """A token that is about to expire is replaced."""
    services.lifetime_s = 30
    cloud = clouds.acting_for(TRUST, 'project-a')

    cloud.zones(None)

    assert services.count(TOKENS) > 1


def test_refused_token_of_many_threads_is_replaced_once(clouds, services):
    """Threads whose token is refused get one new token together."""
    cloud = clouds.acting_for(TRUST, 'project-a')
    services.tokens.clear()

    results = at_once(lambda: clouds.acting_for(TRUST, 'project-a').network(None, 'net'))

    assert results == [None] * MANY
    assert services.count(TOKENS) == 2
    assert cloud.zones(None)


def test_log_in_after_invalidate_does_not_join_an_earlier_login(clouds, monkeypatch):
    """A thread whose token was refused gets a new one, although another login still has the old."""
    session = clouds.sessions.session_of(TRUST.trust_id)
    old = session.get_auth_headers()['X-Auth-Token']
    get_access, looking, opened = session.plugin.get_access, threading.Event(), threading.Event()

    def hold_old_token(*arguments):
        found = get_access(*arguments)
        if found.auth_token == old:
            looking.set()
            assert opened.wait(WAIT_S)
        return found

    monkeypatch.setattr(session.plugin, 'get_access', hold_old_token)
    with ThreadPoolExecutor(2) as threads:
        threads.submit(session.log_in)
        assert looking.wait(WAIT_S)
        session.invalidate()
        later = threads.submit(session.log_in)
        threading.Timer(0.3, opened.set).start()

        assert later.result().auth_token != old


def test_invalidate_of_old_token_keeps_new_one(clouds, services):
    """A thread that was refused with an old token does not discard the new one."""
    cloud = clouds.acting_for(TRUST, 'project-a')
    opened = hold(services, f'/nova-RegionOne{ZONES}')

    with ThreadPoolExecutor() as threads:
        held = threads.submit(cloud.zones, 'RegionOne')
        wait_for(lambda: services.count(ZONES))
        services.tokens.clear()
        assert clouds.acting_for(TRUST, 'project-a').zones('RegionTwo') == {'az3': True}
        opened.set()

        assert held.result(WAIT_S) == {'az1': True, 'az2': False}
    assert services.count(TOKENS) == 2


def test_sessions_beyond_maximum_drop_least_recently_used(make_clouds, services):
    """The cache keeps the sessions of the most recently used trusts."""
    clouds = make_clouds(max_sessions=2)
    for trust in ('trust-a', 'trust-b', 'trust-a', 'trust-a2', 'trust-a'):
        clouds.acting_for(Credentials(trust), services.trusts[trust]).zones(None)
    assert services.count(TOKENS) == 3

    clouds.acting_for(Credentials('trust-b'), 'project-b')

    assert services.count(TOKENS) == 4


@pytest.mark.parametrize('status', [401, 403, 404])
def test_log_in_refused_is_not_retried(clouds, services, waits, status):
    """A refused login is not retried, and the reason hides the trust id."""
    services.fail(TOKENS, respond(status, {'error': {'message': 'No trust-a here.'}}))

    with pytest.raises(
        ServiceFailed,
        match=f'Identity service refused the request: HTTP {status} '
        '.*: No [*]{3} here; check that the trust',
    ):
        clouds.acting_for(TRUST, 'project-a')

    assert (services.count(TOKENS), waits) == (1, [])


@pytest.mark.parametrize(
    'fault',
    [respond(503), reset, respond(201, '{"tok'), respond(201, {'token': {}}), respond(201, [])],
)
def test_log_in_with_transient_error_is_retried(clouds, services, fault):
    """A login is retried after transient errors and invalid responses."""
    services.fail(TOKENS, fault, fault)

    assert clouds.acting_for(TRUST, 'project-a').zones(None)
    assert services.count(TOKENS) == 3


def test_request_sends_bound_request_id_unless_it_has_another(ask):
    """A service receives the request id that is bound; one that the caller passes precedes it."""
    with bound_request_id(REQUEST_ID):
        assert ask() == REQUEST_ID
        assert ask(global_request_id=OTHER_ID) == OTHER_ID

    assert ask() == 'none'
