"""A worker of two processes with RabbitMQ and OpenStack services, used by engines."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.broker import Broker
from tests.functional.conftest import Worker
from tests.integration import seeding, trusts
from tests.integration.checks import TOKENS, ZONES, scale_out, sent

# As for tests/functional.
pytestmark = pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
PROCESSES = 2
CALLERS = 16
CALLS = 50


@pytest.fixture(scope='module')
def worker(openstack, tmp_path_factory):
    broker = Broker()
    try:
        folder, url = tmp_path_factory.mktemp('worker'), broker.start().url
        made = Worker(folder, url, trusts.configuration(openstack), workers=PROCESSES)
        made.wait_until_ready()
        yield made
        made.stop()
    finally:
        broker.close()


def test_concurrent_engines_get_equal_plans(openstack, worker):
    """Concurrent engines get equal plans, and each process needs only one token."""
    trust_id = openstack.make_trust()
    asked, client = scale_out(openstack, trust_id), worker.client(timeout_s=60)
    with openstack.lookups() as (keystone, nova), ThreadPoolExecutor(CALLERS) as callers:
        replies = list(callers.map(lambda _: client.policy_check(asked), range(CALLS)))
    client.close()

    assert [reply.action.data['creation']['zones'] for reply in replies] == [
        {'az1': 2, 'az2': 2, 'az3': 2}
    ] * CALLS
    assert 1 <= len(sent(keystone, TOKENS)) <= PROCESSES
    assert 1 <= len(sent(nova, ZONES)) <= CALLS
    log = worker.log.read_text()
    assert 'DEBUG' in log
    for secret in (trust_id, seeding.PASSWORD, 'gAAAA'):
        assert secret not in log


def test_deleted_trust_is_reason_of_reply(openstack, worker):
    """The reply to an engine says what to check, and neither it nor the log has the trust id."""
    trust_id = openstack.make_trust()
    openstack.connect('demo').identity.delete_trust(trust_id)
    client = worker.client(timeout_s=60)

    reply = client.policy_check(scale_out(openstack, trust_id))
    client.close()

    assert reply.action.data['status'] == 'ERROR'
    reason = reply.action.data['reason']
    assert reason.startswith('Identity service refused the request: HTTP 40')
    assert 'check that the trust exists' in reason
    assert trust_id not in reason + worker.log.read_text()
