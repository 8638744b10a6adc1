"""The queues of a worker, and their declaration without a broker."""

import logging

import pytest

from placement_worker import errors
from placement_worker.worker import queues
from tests.config_files import default_options


@pytest.fixture
def conf():
    conf = default_options()
    conf.set_override('host', 'host-1', group='worker')
    return conf


@pytest.fixture
def broker(monkeypatch):
    """Replace the broker by lists: errors that it raises first, and queues with a consumer."""
    failures, consumed = [], []

    def declare(*_):
        if failures:
            raise failures.pop(0)

    monkeypatch.setattr('placement_worker.messaging.topology.declare', declare)
    monkeypatch.setattr(
        'placement_worker.messaging.topology.consumer_count',
        lambda _conf, _target, queue: queue in consumed,
    )
    monkeypatch.setattr('tenacity.nap.time.sleep', lambda _: None)
    return failures, consumed


def test_consumed_queues_move_poison_messages_to_isolation_and_then_to_the_parking_lot(conf):
    """Each topic isolates its poison messages, and the isolation queue parks them."""
    conf.set_override('topic', 't', group='worker')

    fast, slow, isolation = queues.consumed(conf)

    assert fast.delivery_limit == slow.delivery_limit
    assert fast.delivery_limit.queue == isolation.topic == 't-suspects'
    assert not fast.delivery_limit.parks
    assert (isolation.threads, isolation.delivery_limit.queue) == (1, 't-parked')
    assert isolation.delivery_limit.parks


@pytest.mark.parametrize(('engine_timeout_s', 'expected'), [(600, [60, 600, 600]), (30, [30] * 3)])
def test_requests_of_the_slow_topic_are_long_at_the_timeout_of_the_engine(
    conf, engine_timeout_s, expected
):
    """The log names a request when its caller has given up, and not before."""
    conf.set_override('engine_timeout_s', engine_timeout_s, group='worker')

    assert [queue.long_s for queue in queues.consumed(conf)] == expected


def test_names_are_a_shared_queue_and_an_own_queue_per_topic_and_the_parking_lot(conf):
    """The upgrade check and the worker agree on the queues of a worker."""
    assert queues.names(conf) == [
        'placement-worker',
        'placement-worker.host-1',
        'placement-worker-slow',
        'placement-worker-slow.host-1',
        'placement-worker-suspects',
        'placement-worker-suspects.host-1',
        'placement-worker-parked',
    ]


def test_declare_without_a_broker_logs_the_failure_and_the_wait(conf, broker, caplog):
    """A worker that starts before its broker waits and says so."""
    failures, _ = broker
    failures.append(errors.BrokerUnreachable('No broker responded: 127.0.0.1:1: refused'))

    with caplog.at_level(logging.WARNING, queues.LOG.name):
        queues.declare(conf)

    assert caplog.messages == ['No broker responded: 127.0.0.1:1: refused; trying again in 1 s']


def test_declare_with_another_error_raises_it_at_once(conf, broker):
    """Only an unreachable broker is retried."""
    failures, _ = broker
    failures.append(errors.QueueMismatch('Queue a is classic'))

    with pytest.raises(errors.QueueMismatch):
        queues.declare(conf)


def test_declare_of_a_queue_that_has_a_consumer_warns_of_the_host(conf, broker, caplog):
    """A worker whose host another worker has already is reported: both would share its queues."""
    _, consumed = broker
    consumed.append('placement-worker.host-1')

    queues.declare(conf)

    assert caplog.messages == [
        'Queue placement-worker.host-1 already has a consumer; set a unique [worker] host on each '
        'worker'
    ]
