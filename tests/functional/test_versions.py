"""Clients and workers with different versions of the contract, on a real RabbitMQ."""

import sys
from contextlib import closing
from pathlib import Path

import oslo_messaging
import pytest

from placement_worker.errors import WorkerTooOld
from tests.factories import changed, nodes, zone_policy
from tests.malformed_requests import GOOD

OLD_WORKER = (sys.executable, str(Path(__file__).parent / 'old_worker.py'))
REBALANCE = {
    'cluster': {**GOOD['cluster'], 'nodes': nodes(a=2)},
    'policies': [zone_policy('a', 'b')],
}
PROTECTED = changed(
    GOOD, lambda check: check['cluster']['nodes'][0].update(metadata={'protected': 'true'})
)


@pytest.fixture(scope='module')
def old_worker(start_worker):
    return start_worker(command=OLD_WORKER)


@pytest.fixture(scope='module')
def worker(start_worker):
    return start_worker()


def test_rebalance_over_the_wire_has_its_steps(worker):
    """A worker of version 1.1 plans a rebalance."""
    with closing(worker.client()) as client:
        (step,) = client.policy_rebalance(REBALANCE).steps

    assert [place.zone for place in step.create] == ['b']


def test_old_worker_handles_what_it_knows(old_worker):
    """A new client sends version 1.0 with requests that an old worker can carry out."""
    with closing(old_worker.client()) as client:
        assert client.policy_check(GOOD).action.data['status'] == 'OK'
        assert client.get_capabilities().policy_types
        assert client.policy_validate(zone_policy('a')['spec'])


def test_old_worker_refuses_a_rebalance_with_a_clear_error(old_worker):
    """The error names the method that the old worker lacks, and what to do."""
    with (
        closing(old_worker.client()) as client,
        pytest.raises(WorkerTooOld, match='knows no policy_rebalance'),
    ):
        client.policy_rebalance(REBALANCE)


def test_old_worker_decides_no_deletion_of_protected_nodes(old_worker, worker):
    """A worker that would ignore the protection of a node refuses the check."""
    with closing(old_worker.client()) as client, pytest.raises(WorkerTooOld, match='protection'):
        client.policy_check(PROTECTED)
    with closing(worker.client()) as client:
        deletion = client.policy_check(PROTECTED).action.data['deletion']

    assert PROTECTED['cluster']['nodes'][0]['id'] not in deletion['candidates']


def test_version_cap_sends_no_request_that_needs_a_newer_version(worker):
    """A capped client refuses a rebalance before it is sent."""
    with (
        closing(worker.client(version_cap='1.0')) as client,
        pytest.raises(oslo_messaging.RPCVersionCapError),
    ):
        client.policy_rebalance(REBALANCE)
