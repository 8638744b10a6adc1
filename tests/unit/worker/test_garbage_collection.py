"""The garbage collector of a worker, in a process of its own where settings are global."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from placement_worker.worker import garbage_collection
from tests.waiting import DEADLINE_S

SETTLE = (
    'import gc; from placement_worker.worker import garbage_collection; '
    'garbage_collection.settle(); '
)


def run_settled(program):
    """Run a program after `settle` and return its output."""
    done = subprocess.run(
        [sys.executable, '-c', SETTLE + program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_settle_exempts_the_present_objects_from_collections():
    """Objects from before the fork are not walked again."""
    assert run_settled('print(len(gc.get_objects()))') == '0'


def test_settle_avoids_full_collections_during_a_large_request():
    """A large request in flight is not walked several times."""
    collections = run_settled(
        'before = gc.get_stats()[2]["collections"]; '
        'request = [{"data": {}} for _ in range(100_000)]; '
        'print(gc.get_stats()[2]["collections"] - before)'
    )

    assert collections == '0'


@pytest.fixture
def pauses(monkeypatch):
    """Replace the pauses by an event that the test sets; return the event and the pauses."""
    ready, taken = threading.Event(), []

    def sleep(seconds):
        taken.append(seconds)
        assert ready.wait(DEADLINE_S)

    monkeypatch.setattr(garbage_collection, 'time', SimpleNamespace(sleep=sleep))
    return ready, taken


def test_release_later_releases_memory_after_each_pause_in_one_thread(pauses):
    """Further large bodies start no further threads while one is about to release memory."""
    ready, taken = pauses

    garbage_collection.release_later()
    garbage_collection.release_later()
    threads = [thread for thread in threading.enumerate() if thread.name == 'release-memory']
    ready.set()
    for thread in threads:
        thread.join(DEADLINE_S)

    assert len(threads) == 1
    assert taken == list(garbage_collection.RELEASE_AFTER_S)


def test_release_later_during_the_last_pause_begins_the_pauses_again(monkeypatch):
    """A body that is still in use at the last release of an earlier one is released later."""
    first, *others = garbage_collection.RELEASE_AFTER_S
    taken = []

    def sleep(seconds):
        taken.append(seconds)
        if taken == [first, *others]:
            garbage_collection.release_later()

    monkeypatch.setattr(garbage_collection, 'time', SimpleNamespace(sleep=sleep))
    garbage_collection.release_later()
    for thread in threading.enumerate():
        if thread.name == 'release-memory':
            thread.join(DEADLINE_S)

    assert taken == [first, *others, *others]


def test_release_later_starts_again_after_the_last_release(pauses):
    """The next large body releases its memory, too."""
    ready, taken = pauses
    ready.set()

    for _ in range(2):
        garbage_collection.release_later()
        for thread in threading.enumerate():
            if thread.name == 'release-memory':
                thread.join(DEADLINE_S)

    assert len(taken) == 2 * len(garbage_collection.RELEASE_AFTER_S)


def test_release_later_without_a_further_thread_tries_again_with_the_next_body(monkeypatch):
    """A process that cannot start a thread for a while does not keep memory for good."""
    started = []

    class Thread:
        def __init__(self, **_):
            pass

        def start(self):
            started.append(self)
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(garbage_collection.threading, 'Thread', Thread)

    garbage_collection.release_later()
    garbage_collection.release_later()

    assert len(started) == 2
