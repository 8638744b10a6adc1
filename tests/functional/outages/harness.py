"""Outages for tests, and the time until a worker is served again."""

import contextlib
import functools
import time
from collections.abc import Callable

from tests.functional.conftest import Worker, responds
from tests.waiting import wait_for

# How long a probing call waits; the next one finds out whether its reply or the service was lost.
CALL_S = 2


def served_after(worker: Worker, url: str) -> float:
    """Call a worker on each of its topics until it replies.

    :param url: where the caller finds the broker.
    :returns: how many seconds that took.
    """

    def is_served(topic: str) -> bool:
        with contextlib.closing(worker.client(url=url, topic=topic, timeout_s=CALL_S)) as client:
            return responds(client)

    topics = worker.topic, f'{worker.topic}-slow'
    return sum(comes_about(functools.partial(is_served, topic)) for topic in topics)


def comes_about(condition: Callable[[], object]) -> float:
    """Wait for a condition; return how many seconds that took."""
    began = time.monotonic()
    wait_for(condition)
    return time.monotonic() - began
