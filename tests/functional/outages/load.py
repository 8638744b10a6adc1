"""Ten casts, calls and calls of the stock client per second, and what became of them."""

import collections
import contextlib
import contextvars
import itertools
import json
import re
import threading
import time
from typing import NamedTuple

import msgspec
import oslo_messaging
from oslo_config import cfg

from placement_worker.client import rpc_client
from placement_worker.client.transport import connect, transport_url
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE
from tests.functional.conftest import amqp
from tests.functional.engine import repeat, slow
from tests.waiting import wait_for

EVERY_S = 0.1
SLACK_S, REST_S = 2, 30
SETTLED_S = 2  # a request that takes longer is not quiet
REDELIVERED = re.compile(r'(load-[\w-]+).*was redelivered$', re.MULTILINE)
_name = contextvars.ContextVar('_name', default='')
_attempts = collections.Counter()


def count_attempts(monkeypatch):
    """Count how often each `PolicyClient` sends a request of a load."""
    attempt = rpc_client._StockClients._attempt

    def counted(*args):
        _attempts[_name.get()] += 1
        return attempt(*args)

    monkeypatch.setattr(rpc_client._StockClients, '_attempt', counted)


class Ended(NamedTuple):
    """A request that has ended, and with which error."""

    kind: str
    name: str
    began: float
    at: float
    error: str


class Load:
    """The load on one topic, from the network namespace of the thread that creates it."""

    def __init__(self, workers, url, audit_url, audit_topic, runs, timeout_s):
        self._workers, self._timeout_s, self._runs = workers, timeout_s, runs
        runs.touch()
        self._logged = [len(worker.log.read_text()) for worker in workers]
        self._audit = audit_url, f'{audit_topic}.info'
        topic = workers[0].topic
        self._to = ReplyTo('test-engine', f'{topic}-replies', 'policy_checked')
        self._client = workers[0].client(url=url, timeout_s=timeout_s)
        self._transport = connect(cfg.CONF, transport_url(cfg.CONF, url))
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic, version='1.0')
        self._stock = oslo_messaging.get_rpc_client(self._transport, target, timeout=timeout_s)
        self._pending, self._ended, self._replies = {}, [], set()
        self._notified, self._unnotified = collections.Counter(), set()
        self._receiver = self._client.serve_replies(
            self._to.exchange, self._to.topic, lambda name, _: self._replies.add(name)
        )
        self._kinds = {'cast': self._cast, 'call': self._call, 'stock': self._call_stock}
        self.stop = repeat(self._send, EVERY_S)

    def _send(self):
        for kind, send in self._kinds.items():
            name = f'load-{kind}-{time.monotonic_ns()}'
            self._pending[name] = time.monotonic()
            # Daemons: calls of the stock client connect without an end.
            threading.Thread(target=self._record, args=(kind, send, name), daemon=True).start()

    def _record(self, kind, send, name):
        _name.set(name)
        error = ''
        try:
            send(slow(0, self._runs, name), name)
        except Exception as exc:
            error = type(exc).__name__
        began = self._pending.pop(name)
        self._ended.append(Ended(kind, name, began, time.monotonic(), error))

    def _cast(self, request, name):
        self._client.cast_check(request, self._to, {'request_id': name})

    def _call(self, request, name):
        self._client.policy_check(request, {'request_id': name})

    def _call_stock(self, request, name):
        encoded = msgspec.json.encode(request).decode()
        self._stock.call({'request_id': name}, 'policy_check', request=encoded)

    def is_quiet(self):
        """Return whether no request waits for long; those of the stock client do not count."""
        limit = time.monotonic() - SETTLED_S
        waiting = {name for name, began in list(self._pending.items()) if began < limit}
        unanswered = {one.name for one in self._of('cast') if one.at < limit} - self._replies
        return all('stock' in name for name in waiting) and not unanswered

    def end(self):
        """Stop the load, and wait for its notifications."""
        self.stop()
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not self._missing_notifications(), REST_S)

    def problems(self):
        """Return which bounds the round exceeds."""
        lost = {one.name for one in self._of('cast')} - self._replies
        failed = self._of('call', failed=True)
        unexplained = self._begun_twice() - self._sent_again()
        found = {
            f'casts lost: {lost}': lost,
            f'notifications lost: {self._unnotified}': self._unnotified,
            f'calls failed: {failed}': failed,
            'a call failed too late': any(
                one.at - one.began > self._timeout_s + SLACK_S for one in failed
            ),
            f'begun twice for no reason: {unexplained}': unexplained,
        }
        return [problem for problem, is_one in found.items() if is_one]

    def _of(self, kind, *, failed=False):
        return [one for one in self._ended if one.kind == kind and bool(one.error) == failed]

    def _outlasting(self, kind):
        pending = {name for name in list(self._pending) if kind in name}
        ended = [one for one in self._of(kind) if one.at - one.began > self._timeout_s]
        return pending or ended or self._of(kind, failed=True)

    def pause(self, kind):
        """Return the longest time in which no request succeeded."""
        ends = sorted(one.at for one in self._of(kind))
        return max(later - earlier for earlier, later in itertools.pairwise(ends))

    def _missing_notifications(self):
        url, queue = self._audit
        with amqp(url) as connection, contextlib.suppress(TimeoutError):
            connection.default_channel.basic_consume(queue, callback=self._take)
            while True:
                connection.drain_events(timeout=1)
        answered = {one.name for kind in ('call', 'stock') for one in self._of(kind)}
        self._unnotified = (answered | self._replies) - {*self._notified}
        return self._unnotified

    def _take(self, message):
        # Messages on their way would be lost with a connection that needs no acknowledgement.
        message.channel.basic_ack(message.delivery_tag)
        content = json.loads(json.loads(message.body)['oslo.message'])
        if content['event_type'] == 'policy_check.end':
            self._notified[content['payload']['action']['id']] += 1

    def _begun_twice(self):
        begun = collections.Counter(self._runs.read_text().split())
        return {name for name, count in begun.items() if count > 1 and 'stock' not in name}

    def _sent_again(self):
        # by the broker, or by the client of this package
        logs = [w.log.read_text()[n:] for w, n in zip(self._workers, self._logged, strict=True)]
        redelivered = {name for log in logs for name in REDELIVERED.findall(log)}
        return redelivered | {name for name, count in _attempts.copy().items() if count > 1}

    def close(self):
        self.stop()
        self._receiver.stop()
        self._client.close()
        self._transport.cleanup()

    def __str__(self):
        """The figures of the manual's table."""
        failed = {kind: len(self._of(kind, failed=True)) for kind in self._kinds}
        pauses = ', '.join(f'{kind} {self.pause(kind):.1f} s' for kind in self._kinds)
        return (
            f'{len(self._ended)} requests, failed: {failed}, longest pauses: {pauses}, '
            f'{len(self._begun_twice())} begun twice, {len(self._sent_again())} sent again, '
            f'{self._notified.total() - len(self._notified)} notified twice, '
            f'{len(self._outlasting("stock"))} stock calls outlast their timeout'
        )
