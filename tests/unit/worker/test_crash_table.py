"""The deaths of processes with requests in flight."""

import copy
import os
import subprocess
import threading
from types import SimpleNamespace

import pytest

from placement_worker.worker import crash_table
from placement_worker.worker.crash_table import CrashTable

TOPIC = {'isolated': False, 'redelivered': False}
AGAIN = {'isolated': False, 'redelivered': True}
ISOLATED = {'isolated': True, 'redelivered': True}


@pytest.fixture
def process(monkeypatch):
    """Return a function that lets a process, alive or dead, begin requests; return its table."""
    dead = subprocess.Popen(['true'])
    os.waitid(
        os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT
    )  # a zombie, as its parent has not seen it

    unfinished = []

    def starting(table, number, *requests, lives=True):
        pid = os.getpid() if lives else dead.pid
        monkeypatch.setattr(crash_table, 'os', SimpleNamespace(getpid=lambda: pid))
        forked = copy.copy(table)
        forked._kinds = {}
        forked.start_process(number)
        for request in requests:
            unfinished.append(forked.handling(request, **TOPIC))
            unfinished[-1].__enter__()
        return forked

    yield starting
    dead.wait()


def test_requests_in_flight_at_a_death_are_counted_once_and_others_never(process):
    """The count is the same before and after the parent learns of the death."""
    table = CrashTable(2, 3)
    with process(table, 0, 1, 2, lives=False).handling(7, **TOPIC):
        pass
    process(table, 1, 1)

    before = [table.deaths(request) for request in (1, 2, 7)]
    table.record_death(0)

    assert before == [table.deaths(request) for request in (1, 2, 7)] == [1, 1, 0]


def test_request_of_a_process_that_lost_its_connection_is_not_counted(process):
    """A redelivery of a request that another process still handles counts for no death."""
    table = CrashTable(2, 1)
    process(table, 0, 1)
    process(table, 1, 1)

    assert table.deaths(1) == 0


def test_deaths_beyond_the_limit_are_forgotten_oldest_first(process, monkeypatch):
    """The memory of deaths is bounded."""
    monkeypatch.setattr(crash_table, 'REMEMBERED', 2)
    table = CrashTable(1, 1)
    for request in (1, 2, 3):
        process(table, 0, request)
        table.record_death(0)

    assert [table.deaths(request) for request in (1, 2, 3)] == [0, 1, 1]


@pytest.mark.parametrize(
    ('first', 'second', 'died', 'waits'),
    [
        (ISOLATED, AGAIN, False, True),
        (ISOLATED, TOPIC, False, False),
        (AGAIN, ISOLATED, False, True),
        (TOPIC, ISOLATED, False, False),
        (TOPIC, ISOLATED, True, True),
        (AGAIN, AGAIN, True, False),
    ],
)
def test_isolated_request_is_not_handled_beside_one_that_may_crash(
    process, first, second, died, waits
):
    """A request that crashed another process, here or on another host, gets no other one parked."""
    table, begun = CrashTable(2, 2), threading.Event()
    if died:
        process(table, 1, 1)
        table.record_death(1)
    own = process(table, 0)

    def handle():
        with own.handling(2, **second):
            begun.set()

    thread = threading.Thread(target=handle)
    with own.handling(1, **first):
        thread.start()
        has_begun = begun.wait(0.2 if waits else 10)
    thread.join()

    assert has_begun is not waits
    assert begun.is_set()
