"""A worker of two processes with RabbitMQ and OpenStack services, used by engines."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.broker import Broker
from tests.functional.conftest import Worker
from tests.integration import seeding, trusts
from tests.integration.checks import TOKENS, ZONES, scale_out, sent

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


@pytest.mark.filterwarnings(
    'ignore::pytest.PytestUnraisableExceptionWarning'
)  # as for tests/functional
def test_concurrent_engines_get_equal_plans(openstack, worker):
    """Concurrent engines get equal plans, and each process needs only one token."""
    trust_id = openstack.make_trust()
    asked, client = scale_out(openstack, trust_id), worker.client(timeout_s=60)
    with (
        openstack.services['keystone'].watch() as keystone,
        openstack.nova('RegionOne').watch() as nova,
        ThreadPoolExecutor(CALLERS) as callers,
    ):
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


@pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
def test_deleted_trust_is_reason_of_reply(openstack, worker):
    """The reply to an engine names a deleted trust as the reason."""
    trust_id = openstack.make_trust()
    openstack.connect('demo').identity.delete_trust(trust_id)
    client = worker.client(timeout_s=60)

    reply = client.policy_check(scale_out(openstack, trust_id))
    client.close()

    assert reply.action.data['status'] == 'ERROR'
    assert 'check that the trust exists' in reply.action.data['reason']
    assert trust_id not in worker.log.read_text()
