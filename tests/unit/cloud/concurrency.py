"""Helpers for tests that send many lookups at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor

from placement_worker.errors import ServiceFailed

MANY = 20
WAIT_S = 60


def at_once(call):
    """Return the result of a call in each of many threads, or the error that it raises."""
    gate = threading.Barrier(MANY)

    def run(_):
        gate.wait(WAIT_S)
        try:
            return call()
        except ServiceFailed as exc:
            return exc

    with ThreadPoolExecutor(MANY) as threads:
        return list(threads.map(run, range(MANY)))


def hold(services, path):
    """Block requests for a path; return the event that lets them continue."""
    opened = threading.Event()
    services.before = lambda method, asked: opened.wait(WAIT_S) if asked.endswith(path) else None
    return opened
