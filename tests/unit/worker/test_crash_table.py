"""The deaths of processes with requests in flight."""

import copy
import os
import subprocess
import threading
from types import SimpleNamespace

import pytest

from placement_worker.worker import crash_table
from placement_worker.worker.crash_table import CrashTable
from tests.waiting import wait_for


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
        forked.start_process(number)
        for request in requests:
            unfinished.append(forked.handling(request, isolated=False))
            unfinished[-1].__enter__()
        return forked

    yield starting
    dead.wait()


def test_requests_in_flight_at_a_death_are_counted_once_and_others_never(process):
    """The count is the same before and after the parent learns of the death."""
    table = CrashTable(2, 3)
    with process(table, 0, 1, 2, lives=False).handling(7, isolated=False):
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
    monkeypatch.setattr(crash_table, 'MAX_DEATHS', 2)
    table = CrashTable(1, 1)
    for request in (1, 2, 3):
        process(table, 0, request)
        table.record_death(0)

    assert [table.deaths(request) for request in (1, 2, 3)] == [0, 1, 1]


@pytest.mark.parametrize(
    ('first', 'second', 'waits'),
    [(True, False, True), (False, True, True), (True, True, True), (False, False, False)],
)
def test_isolated_request_is_handled_alone_in_its_process(process, first, second, waits):
    """A request that crashes its process for the first time gets no other one parked."""
    own, begun = process(CrashTable(1, 2), 0), threading.Event()

    def handle():
        with own.handling(2, isolated=second):
            begun.set()

    thread = threading.Thread(target=handle)
    with own.handling(1, isolated=first):
        thread.start()
        has_begun = begun.wait(0.2 if waits else 10)
    thread.join()

    assert has_begun is not waits
    assert begun.is_set()


def test_isolated_request_begins_before_requests_that_arrive_while_it_waits(process):
    """Requests that come without a pause do not keep an isolated one out."""
    own, order = process(CrashTable(1, 3), 0), []

    def handle(name, isolated):
        with own.handling(1, isolated=isolated):
            order.append(name)

    with own.handling(1, isolated=False):
        threads = []
        for name, isolated in (('isolated', True), ('later', False)):
            threads.append(threading.Thread(target=handle, args=(name, isolated)))
            threads[-1].start()
            wait_for(lambda: own._isolated)
    for thread in threads:
        thread.join()

    assert order == ['isolated', 'later']


@pytest.mark.parametrize(
    ('error', 'has_proc', 'ended'),
    [(FileNotFoundError, True, True), (FileNotFoundError, False, False), (OSError, True, False)],
)
def test_process_whose_state_cannot_be_read_counts_as_alive(monkeypatch, error, has_proc, ended):
    """A lost connection is no death because file descriptors or /proc are missing."""

    def fail(*_):
        raise error

    monkeypatch.setattr('builtins.open', fail)
    monkeypatch.setattr(crash_table.os.path, 'exists', lambda _: has_proc)
    assert crash_table._has_ended(1) is ended
