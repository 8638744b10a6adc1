"""Outages for tests, and the time until a worker is served again."""

import contextlib
import time
from collections.abc import Callable

from placement_worker.errors import NoWorkerAnswered
from tests.functional.conftest import Worker
from tests.malformed_requests import GOOD
from tests.waiting import DEADLINE_S, wait_for

# How long a probing call waits; the next one finds out whether its reply or the service was lost.
CALL_S = 2


def served_after(worker: Worker, url: str) -> float:
    """Call a worker on each of its topics until it replies.

    :param url: where the caller finds the broker.
    :returns: how many seconds that took.
    :raises NoWorkerAnswered: the worker did not reply in time.
    """
    began = time.monotonic()
    for topic in (worker.topic, f'{worker.topic}-slow'):
        while True:
            try:
                with contextlib.closing(
                    worker.client(url=url, topic=topic, timeout_s=CALL_S)
                ) as client:
                    client.policy_check(GOOD)
                break
            except NoWorkerAnswered:
                if time.monotonic() - began > DEADLINE_S:
                    raise
                time.sleep(0.1)
    return time.monotonic() - began


def comes_about(condition: Callable[[], object]) -> float:
    """Wait for a condition.

    :returns: how many seconds that took.
    :raises AssertionError: it did not become true in time.
    """
    began = time.monotonic()
    wait_for(condition)
    return time.monotonic() - began
