"""A process is killed while clusters carry out actions, each at a known request to Octavia.

PLACEMENT_WORKER_TEST_KILLS is the number of kills of each process, one by default. The number of
the kill selects the requests.
"""

import os

import pytest

from tests.cloud import agreement
from tests.cloud.background import at_once
from tests.cloud.operations import (
    BROKER,
    ENGINES,
    PREPARED,
    WORKER,
    begin_and_hold,
    finish,
    prepare,
    release,
)
from tests.waiting import wait_for

KILLS = int(os.environ.get('PLACEMENT_WORKER_TEST_KILLS', '1'))
pytestmark = pytest.mark.alone


@pytest.fixture(scope='module', params=range(1, KILLS + 1))
def number(request):
    """The number of the kill; each process is killed once before the next number."""
    return int(request.param)


@pytest.fixture(scope='module')
def prepared(cloud, number, background_calls):
    """The operations for the kill of each process."""
    cloud.run_only('worker1')
    return prepare(cloud, number) if number > 1 else background_calls.result(PREPARED)


def kill_worker(cloud, operations):
    """Replace the worker that handles the requests by another one."""
    cloud.run_only('worker2')
    release(operations)


def kill_broker(cloud, operations):
    """Kill the broker and start it again; the worker gets its responses meanwhile."""
    cloud.workers_broker.flush()
    cloud.workers_broker.kill()
    release(operations)
    cloud.workers_broker.start()


KILL = {WORKER: kill_worker, BROKER: kill_broker}


@pytest.mark.parametrize('process', KILL)
def test_process_killed_during_actions_loses_none(cloud, prepared, tally, process):
    """All actions succeed although a worker or the broker is killed, and leave nothing behind."""
    operations = prepared[process]
    cloud.run_only('worker1')
    begun = begin_and_hold(cloud, operations)
    KILL[process](cloud, operations)
    changes = at_once(running.end for running in begun)

    assert [len(change.added) for change in changes] == [2, 0, 0, 0]
    assert [len(change.removed) for change in changes] == [0, 2, 0, 0]
    finish(operations)
    count(tally, process, operations, [change.action for change in changes])


def test_engines_killed_during_actions_leave_nothing_after_repetition(cloud, prepared, tally):
    """Actions of killed engines fail, and the same actions reach the wanted state afterwards."""
    operations = prepared[ENGINES]
    cloud.run_only('worker1')
    begun = begin_and_hold(cloud, operations)
    sizes = [len(operation.cluster.nodes()) for operation in operations]
    for engine in cloud.engine.engines.values():
        engine.kill()
    release(operations)
    cloud.engine.restart_engines(with_plugin=True)
    actions = [cloud.senlin.wait(running.action_id) for running in begun]
    adding, *others = operations
    at_once(repeated.begin().end for repeated in others)

    assert {action['status_reason'] for action in actions} == {'Engine failure'}
    assert sizes == [3, 3, 1, 2]
    assert [len(operation.cluster.nodes()) for operation in operations] == [3, 1, 1, 2]
    wait_for(lambda: has_all_members(adding.cluster))
    for operation in operations:
        agreement.check_nodes(operation.cluster)
    finish(operations)
    count(tally, ENGINES, operations, actions)


def count(tally, killed, operations, actions):
    """Count the actions of operations whose clusters are as wanted, with nothing left over."""
    for operation, action in zip(operations, actions, strict=True):
        tally[killed, operation.name, action['status']] += 1


def has_all_members(cluster):
    [policy] = cluster.enabled_policies(agreement.LOAD_BALANCING)
    return cluster.members(policy) == cluster.addresses()
