"""Workers for outages: they end with their test, even if they do not stop."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.broker import Broker
from tests.functional.conftest import Start, Worker
from tests.functional.outages.harness import killed


@pytest.fixture
def start(start_worker: Start, own_broker: Broker) -> Iterator[Callable[..., Worker]]:
    """Start a worker that knows the slow policy, on the broker that may be killed."""

    def starting(**options: object) -> Worker:
        worker = start_worker(**{'url': own_broker.url, **options})
        stack.enter_context(killed(worker))
        return worker

    with contextlib.ExitStack() as stack:
        yield starting
