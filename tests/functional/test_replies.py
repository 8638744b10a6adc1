"""Replies and notifications that a destination refuses, and replies that no request may
redirect.
"""

import itertools
import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import amqp
import pytest

from placement_worker import errors
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE
from placement_worker.late_ack.request import enveloped
from tests.broker import Broker
from tests.factories import changed
from tests.functional.conftest import amqp as amqp_connection
from tests.functional.conftest import message_count, raw_client
from tests.malformed_requests import GOOD
from tests.waiting import wait_for

FULL = {'x-max-length': 1, 'x-overflow': 'reject-publish'}
REFUSING = 'test-refusing-engine'
# Replies that are refused for longer than calls and stops may take.
FOR_LONG = {'reply_timeout_s': 900}
BLOCKED = 'The broker blocks a connection'
NOTIFICATIONS = '[oslo_messaging_notifications]\ndriver = messagingv2\ntopics = {}\n'


def bound_queue(channel, queue, exchange, **options):
    """Declare a queue that is bound to an exchange by its own name."""
    channel.exchange_declare(exchange, 'topic', durable=True, auto_delete=False)
    channel.queue_declare(queue, durable=True, auto_delete=False, **options)
    channel.queue_bind(queue, exchange, queue)


def full_queue(channel, queue, exchange):
    """Declare a queue that rejects every message."""
    bound_queue(channel, queue, exchange, arguments=FULL)
    channel.queue_purge(queue)  # an earlier test may have filled it
    channel.basic_publish(amqp.Message('full'), exchange='', routing_key=queue)


def publish_call(channel, topic, reply_queue):
    """Publish a call as oslo.messaging does, whose reply goes to a queue of that name."""
    call = {'method': 'get_capabilities', 'args': {'request': {}}, 'version': '1.0'}
    ids = {'_msg_id': uuid.uuid4().hex, '_reply_q': reply_queue}
    message = enveloped({**call, **ids, '_timeout': None})
    channel.basic_publish(message, exchange=EXCHANGE, routing_key=topic)


def call(client, count):
    for _ in range(count):
        assert client.policy_check(GOOD).action.data['status'] == 'OK'


@pytest.mark.parametrize('refused', ['casts', 'calls', 'calls of callers that are gone'])
def test_80_replies_that_are_refused_disturb_no_call_and_no_stop(refused, start_worker, channel):
    """Replies that a queue rejects, or that have no queue, hold up neither calls nor SIGTERM."""
    worker = start_worker(**FOR_LONG)
    full = f'reply_{uuid.uuid4().hex}'
    full_queue(channel, full, REFUSING)
    with closing(worker.client()) as client:
        for _ in range(80):
            if refused == 'casts':
                client.cast_check(GOOD, ReplyTo(REFUSING, full, 'policy_checked'))
            elif refused == 'calls':
                publish_call(channel, worker.topic, full)
            else:
                publish_call(channel, worker.topic, f'reply_{uuid.uuid4().hex}')
        call(client, 30)

    assert worker.stop() == 0


def test_a_reply_that_its_queue_rejects_is_dropped_at_the_bound_and_logged(start_worker, channel):
    """The log names request, exchange, topic and cause of a dropped reply."""
    worker = start_worker(reply_timeout_s=1)
    full_queue(channel, REFUSING, REFUSING)
    dropped = 'Dropped the reply to request dropped'
    with closing(worker.client()) as client:
        client.cast_check(
            GOOD, ReplyTo(REFUSING, REFUSING, 'policy_checked'), {'request_id': 'dropped'}
        )
        wait_for(lambda: dropped in worker.log.read_text())

    (line,) = [line for line in worker.log.read_text().splitlines() if dropped in line]
    assert f'exchange {REFUSING}, topic {REFUSING}' in line
    assert 'rejected' in line
    wait_for(lambda: channel.queue_declare(worker.topic, passive=True).message_count == 0)


def test_a_reply_waits_for_a_full_queue_and_arrives_when_there_is_room(start_worker, channel):
    """A slow engine whose queue has room again within the bound gets its reply."""
    worker, queue = start_worker(**FOR_LONG), 'test-slow-engine'
    full_queue(channel, queue, queue)
    with closing(worker.client()) as client:
        client.cast_check(GOOD, ReplyTo(queue, queue, 'policy_checked'), {'request_id': 'patient'})
        for word in ('patient', 'rejected'):
            wait_for(lambda word=word: word in worker.log.read_text())
        channel.queue_purge(queue)
        wait_for(lambda: channel.queue_declare(queue, passive=True).message_count == 1)

    (message,) = taken(channel, queue)
    assert (message['method'], message['args']['request_id']) == ('policy_checked', 'patient')


def test_replies_that_a_missing_queue_refuses_all_arrive_when_the_queue_returns(
    start_worker, channel
):
    """Replies in excess of the threads that may wait outlive a failover of their caller."""
    worker = start_worker(**FOR_LONG)
    reply_queue, count = f'reply_{uuid.uuid4().hex}', 40
    for _ in range(count):
        publish_call(channel, worker.topic, reply_queue)
    wait_for(lambda: 'Retrying the reply' in worker.log.read_text())
    with closing(worker.client()) as client:
        call(client, 1)  # later than all others, so that each of them was refused

    channel.queue_declare(reply_queue, durable=True, auto_delete=False)

    wait_for(lambda: channel.queue_declare(reply_queue, passive=True).message_count == count)
    assert 'Dropped' not in worker.log.read_text()


def test_notifications_that_their_queue_rejects_disturb_no_call_and_no_stop(start_worker, channel):
    """A queue that rejects notifications delays no call and no stop; the log counts the lost."""
    topic = f'test-refused-{uuid.uuid4().hex}'
    worker = start_worker(NOTIFICATIONS.format(topic))
    full_queue(channel, f'{topic}.info', EXCHANGE)
    with closing(worker.client()) as client, ThreadPoolExecutor(8) as callers:
        contexts = [{'request_id': f'unheard-{n}'} for n in range(80)]
        replies = list(callers.map(lambda context: client.policy_check(GOOD, context), contexts))

    assert len(replies) == 80
    assert worker.stop() == 0
    assert 'Lost 160 notifications: the worker stopped before' in worker.log.read_text()


def forbidden(worker, topic):
    """Yield exchange and topic of each target that `reply_to` must not reach."""
    own = [f'{worker.topic}{suffix}' for suffix in ('', '-slow', '-suspects', '-parked')]
    notified = [f'{topic}.info', f'{topic}.error', f'{topic}.audit', topic]
    everything = *own, *notified, 'test-bystander'
    yield from itertools.product(('', EXCHANGE, 'amq.topic'), everything)
    for exchange in ('amq.direct', 'amq.fanout', 'amq.headers', 'amq.match'):
        yield exchange, 'test-bystander'
    yield from (('test-other', queue) for queue in (*own[2:], *notified))


def test_no_reply_to_reaches_a_forbidden_place(start_worker, channel):
    """A cast whose `reply_to` is forbidden is refused undecided, and nothing arrives there."""
    topic = f'test-forbidden-{uuid.uuid4().hex}'
    worker = start_worker(f'[oslo_messaging_notifications]\ntopics = {topic}\n')
    targets = list(forbidden(worker, topic))
    channel.exchange_declare('test-other', 'topic', durable=True, auto_delete=False)
    spies = set()
    for exchange, queue in targets:
        if exchange:
            spies.add(spy := channel.queue_declare('', exclusive=True).queue)
            channel.queue_bind(spy, exchange, queue)
        else:
            channel.queue_declare(
                queue, durable=True, auto_delete=False, passive=queue.startswith(worker.topic)
            )
    with raw_client(worker) as raw:
        for number, (exchange, queue) in enumerate(targets):
            asked = changed(GOOD, lambda r, e=exchange, q=queue: r.update(reply_to=_to(e, q)))
            raw.cast({'request_id': f'hostile-{number}'}, 'policy_check', request=asked)
    with closing(worker.client()) as client:
        call(client, 1)
        refused = 'policy_check refused: InvalidRequest: '
        wait_for(lambda: worker.log.read_text().count(refused) == len(targets))

    log = worker.log.read_text()
    assert 'the reply to request' not in log
    assert 'method: policy_checked' not in log, 'a queue that the worker consumes got a reply'
    for queue in {*spies, *(queue for exchange, queue in targets if not exchange)}:
        assert 'policy_checked' not in {message['method'] for message in taken(channel, queue)}


def taken(channel, queue):
    for message in iter(lambda: channel.basic_get(queue, no_ack=True), None):
        yield json.loads(json.loads(message.body)['oslo.message'])


def _to(exchange, topic):
    return {'exchange': exchange, 'topic': topic, 'method': 'policy_checked'}


@pytest.fixture(scope='module')
def strict_worker(start_worker):
    return start_worker(reply_to_allowed='test-allowed/test-listed, test-any', reply_timeout_s=5)


def test_with_an_allow_list_a_reply_goes_to_what_it_names_and_nowhere_else(strict_worker, channel):
    """An exchange or topic that `reply_to_allowed` does not name is refused."""
    bound_queue(channel, 'test-listed', 'test-allowed')
    with raw_client(strict_worker) as raw:
        for to in (_to('test-allowed', 'other'), _to('test-elsewhere', 'test-listed')):
            with pytest.raises(errors.InvalidRequest, match='reply_to_allowed'):
                raw.call({}, 'policy_check', request={**GOOD, 'reply_to': to})
        to = _to('test-allowed', 'test-listed')
        raw.cast({}, 'policy_check', request={**GOOD, 'reply_to': to})

    wait_for(lambda: channel.queue_declare('test-listed', passive=True).message_count == 1)


def test_a_reply_makes_no_exchange(strict_worker, channel):
    """A missing exchange that `reply_to` names stays missing."""
    with closing(strict_worker.client()) as client:
        client.cast_check(
            GOOD, ReplyTo('test-any', 'replies', 'policy_checked'), {'request_id': 'no-exchange'}
        )
    wait_for(lambda: 'Dropped the reply to request no-exchange' in strict_worker.log.read_text())

    with pytest.raises(amqp.exceptions.NotFound):
        channel.exchange_declare('test-any', 'topic', passive=True)


def begun_cast(worker, broker, gate, request_id):
    """Cast a request that a worker has begun; return the queue of its reply."""
    queue = f'test-waiting-{uuid.uuid4().hex}'
    with amqp_connection(broker.url) as connection:
        bound_queue(connection.channel(), queue, queue)
    broker.flush()
    with closing(worker.client()) as client:
        to = ReplyTo(queue, queue, 'policy_checked')
        client.cast_check(gate.request(), to, {'request_id': request_id})
    wait_for(gate.begun)
    return queue


# Outages, with the line of the log about a reply in each.
OUTAGES = {
    'alarm': (Broker.memory_alarm, BLOCKED),
    'killed': (Broker.killed, 'Retrying the reply to request waiting'),
}


@pytest.fixture(params=OUTAGES)
def waiting_cast(request, start_worker, own_broker, gate):
    """A worker whose reply meets an outage; functions that end it and that count the replies."""
    outage, line = OUTAGES[request.param]
    worker = start_worker(url=own_broker.url, reply_timeout_s=1)
    queue = begun_cast(worker, own_broker, gate, 'waiting')
    with ExitStack() as lasting:
        lasting.enter_context(outage(own_broker))
        gate.open()
        wait_for(lambda: line in worker.log.read_text())
        yield worker, lasting.close, lambda: message_count(own_broker.url, queue)


@pytest.mark.long
def test_a_reply_outlives_an_outage_of_the_broker(waiting_cast):
    """A reply that an alarm or a restart holds up goes out after it, and no bound counts it."""
    worker, end_outage, count_replies = waiting_cast
    end_outage()

    wait_for(count_replies)
    # The request of a lost connection is delivered again; a blocked reply must not be sent again.
    assert count_replies() == 1 or 'was redelivered' in worker.log.read_text()
    assert 'Dropped' not in worker.log.read_text()


@pytest.mark.long
def test_an_outage_of_the_broker_makes_no_stop_wait_and_loses_no_request(
    waiting_cast, own_broker, start_worker
):
    """SIGTERM ends a wait for the broker, and another worker gets the request."""
    worker, end_outage, count_replies = waiting_cast

    assert worker.stop() == 0
    end_outage()
    start_worker(url=own_broker.url, topic=worker.topic)

    wait_for(count_replies)


@pytest.mark.long
def test_stop_after_a_restart_of_the_broker_replies_to_the_request_in_flight(
    start_worker, own_broker, gate
):
    """A connection for replies that the restart closed costs a stopping worker no reply."""
    worker = start_worker(url=own_broker.url)
    own_broker.flush()
    own_broker.kill()
    own_broker.start()
    wait_for(lambda: 'Reconnected to the broker' in worker.log.read_text())
    queue = begun_cast(worker, own_broker, gate, 'stopped')

    worker.process.terminate()
    wait_for(lambda: 'graceful exiting of service' in worker.log.read_text())
    gate.open()

    assert worker.stop() == 0
    assert 'Requeued' not in worker.log.read_text()
    assert message_count(own_broker.url, queue) == 1
