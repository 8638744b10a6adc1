"""The policies that run in each process."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.contract import codec
from placement_worker.contract.model import BindRequest
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    LoadBalancerUpdated,
    PluginEnded,
    PluginStarted,
    RequestFailed,
)
from placement_worker.worker.running_policies import ROW_BYTES, RunningPolicies
from tests.factories import bind, zone_policy

ATTACHED = codec.decode(bind(zone_policy('a')), BindRequest)
OF_A_PROCESS = """
import os
from placement_worker.events.types import PluginStarted
from placement_worker.worker.running_policies import RunningPolicies

running = RunningPolicies(2)
pid = os.fork()
if pid == 0:
    running.of_process(1).handle(PluginStarted('own.policy-1.0'))
    os._exit(3)
os.waitpid(pid, 0)
print(running.take(0), running.take(1), running.take(1))
"""
STARTED = BindingStarted('policy_attach', ATTACHED, None)


@pytest.fixture
def running():
    return RunningPolicies(2)


def start_together(process, names):
    """Start a plugin in each of several threads, which all live until the last one has begun."""
    barrier = threading.Barrier(len(names))

    def start(name):
        process.handle(PluginStarted(name))
        barrier.wait()

    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(start, names))


def test_policy_of_a_killed_process_is_known_to_its_parent():
    """The memory outlives the process that wrote it."""
    done = subprocess.run(
        [sys.executable, '-c', OF_A_PROCESS], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[] ['own.policy-1.0'] []\n"


def test_policies_of_several_threads_are_named_once_each(running):
    """Each of them may have ended the process."""
    process = running.of_process(0)
    start_together(process, ['b-1.0', 'a-1.0', 'b-1.0'])
    process.handle(PluginStarted('c-1.0'))
    process.handle(PluginEnded())

    assert running.take(0) == ['a-1.0', 'b-1.0']


@pytest.mark.parametrize(
    'end',
    [
        PluginEnded(),
        BindingEnded('policy_attach', ATTACHED, None, 'a', 'a-1.0', 0.1, None),
        RequestFailed('policy_attach', ValueError(), None),
    ],
)
def test_policy_that_has_ended_is_not_named(running, end):
    """A policy that an earlier request ran did not end the process."""
    process = running.of_process(0)
    process.handle(STARTED)
    process.handle(end)

    assert running.take(0) == []


def test_policy_that_is_attached_is_named_until_it_ends(running):
    """An attachment may end its process as a check may; other events change nothing."""
    process = running.of_process(0)
    process.handle(STARTED)
    process.handle(LoadBalancerUpdated())

    assert running.take(0) == ['senlin.policy.zone_placement-1.0']


def test_more_names_than_fit_leave_the_other_processes_alone(running):
    """A row never continues in that of the next process."""
    process = running.of_process(0)
    start_together(process, [f'{number:02}{"x" * 60}' for number in range(50)])

    names = running.take(0)
    assert sum(map(len, names)) <= ROW_BYTES
    assert names[0] == f'00{"x" * 60}'
    assert running.take(1) == []
