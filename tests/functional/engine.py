"""An engine that loads workers and counts their replies."""

import collections
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import oslo_messaging
from oslo_config import cfg

from placement_worker.client.transport import connect, transport_url
from placement_worker.contract.model import ReplyTo
from placement_worker.errors import BrokerUnreachable
from tests.factories import request
from tests.waiting import wait_for

if TYPE_CHECKING:
    from tests.functional.conftest import Worker  # which imports this module

REPLY_S = 120  # longer than any outage of the tests
TO = ReplyTo('test-engine', 'test-engine-replies', 'policy_checked')


def slow(seconds, runs='/dev/null', name='act-1', **more):
    properties = {'seconds': seconds, 'runs': str(runs), **more}
    policy = {
        'id': 'slow',
        'spec': {'type': 'test.policy.slow', 'version': '1.0', 'properties': properties},
    }
    return request('CLUSTER_SCALE_OUT', [policy], id=name)


class Gate:
    """Requests that a worker begins and does not finish until the test opens the gate."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._runs, self._open = folder / 'gate-runs', folder / 'gate-open'
        self._runs.touch()

    def request(self, name='act-1'):
        """Return a request whose only policy waits for the gate."""
        return slow(0, self._runs, name, until=str(self._open))

    def begun(self) -> list[str]:
        """Return the names of the requests that were begun, one for each time."""
        return self._runs.read_text().split()

    def open(self) -> None:
        self._open.touch()


def seconds_of(number):
    """Return 50 to 200 ms, distributed evenly."""
    return 0.05 + number % 16 / 100


class StockEngine:
    """A server of oslo.messaging without this package, which passes on the replies to casts."""

    def __init__(self, url, to, server, receive) -> None:
        self._receive = receive
        self._connection = connect(cfg.CONF, transport_url(cfg.CONF, url))
        target = oslo_messaging.Target(exchange=to.exchange, topic=to.topic, server=server)
        self._server = oslo_messaging.get_rpc_server(self._connection, target, [self])
        self._server.start()

    @oslo_messaging.expose
    def policy_checked(self, context, request_id, reply):
        self._receive(request_id, reply)

    def close(self) -> None:
        self._server.stop()
        self._server.wait()
        self._connection.cleanup()


class Engine:
    """Cast and call checks; a server of the engine receives the replies to casts."""

    def __init__(self, worker: 'Worker', runs) -> None:
        self.worker = worker
        self.runs = runs
        self._name = uuid.uuid4().hex[:8]  # replies to an earlier engine may be in the queue
        self.replies: collections.Counter = collections.Counter()
        self.received: dict[str, object] = {}
        self.confirmed: list[str] = []
        self.calls: list[Future] = []
        self._callers = ThreadPoolExecutor(6)
        self._client = worker.client(timeout_s=REPLY_S)
        self._server = StockEngine(worker.url, TO, worker.topic, self._receive)

    def _receive(self, request_id, reply):
        self.received[request_id] = reply
        self.replies[request_id] += 1

    def cast(self, count: int) -> None:
        """Cast checks, and count those that the broker confirms."""
        with closing(self.worker.client(timeout_s=REPLY_S)) as client:
            for number in range(count):
                name = f'{self._name}-cast-{len(self.confirmed)}-{number}'
                asked = slow(seconds_of(number), self.runs, name)
                try:
                    client.cast_check(asked, TO, {'request_id': name})
                except BrokerUnreachable:
                    time.sleep(0.2)
                else:
                    self.confirmed.append(name)

    def renew_client(self) -> None:
        """Let later calls use a client of their own, with a new reply queue."""
        self._client = self.worker.client(timeout_s=REPLY_S)

    def call(self, count: int) -> None:
        """Call checks from several threads; `answered` waits for them."""
        client = self._client

        def one(number):
            asked = slow(seconds_of(number), self.runs, f'{self._name}-call-{number}')
            try:
                return client.policy_check(asked).action.data['status']
            except BrokerUnreachable:
                return 'not confirmed'

        first = len(self.calls)
        self.calls += [self._callers.submit(one, number) for number in range(first, first + count)]

    def answered(self) -> collections.Counter:
        return collections.Counter(call.result(timeout=180) for call in self.calls)

    def lost(self, timeout_s: float) -> set[str]:
        """Return the confirmed casts without a reply when all have one, or after the timeout."""
        with suppress(AssertionError):
            wait_for(lambda: not self.waiting(), timeout_s)
        return set(self.confirmed) - set(self.replies)

    def summary(self) -> str:
        """Check that no confirmed request lacks its reply, and return what became of them."""
        assert self.lost(timeout_s=120) == set()
        calls = self.answered()
        assert set(calls) <= {'OK', 'not confirmed'}
        return (
            f'{len(self.confirmed)} casts confirmed, calls: {dict(calls)}, '
            f'{self.ran_twice()} begun twice'
        )

    def waiting(self) -> int:
        """Return the number of confirmed casts without a reply."""
        return len(set(self.confirmed) - set(self.replies))

    def ran_twice(self) -> int:
        begun = collections.Counter(self.runs.read_text().split())
        return sum(count > 1 for count in begun.values())

    def close(self) -> None:
        self._callers.shutdown(cancel_futures=True)
        self._client.close()
        self._server.close()


def repeat(function: Callable[[], object], every_s: float) -> Callable[[], None]:
    """Call a function periodically in a thread; return a function that stops the thread."""
    stopping = threading.Event()

    def run():
        while not stopping.wait(every_s):
            function()

    thread = threading.Thread(target=run, daemon=True)  # a test may fail before it stops it
    thread.start()

    def stop():
        stopping.set()
        thread.join()

    return stop
