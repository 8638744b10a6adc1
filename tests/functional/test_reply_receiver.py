"""Replies to casts that an engine receives with `serve_replies`."""

import logging
import queue
import subprocess
import sys
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest

from placement_worker import errors
from placement_worker.client import reply_receiver
from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import CheckReply, ReplyTo
from placement_worker.messaging.reply_sender import cast_message
from tests.functional.conftest import amqp as amqp_connection
from tests.functional.conftest import message_count
from tests.malformed_requests import GOOD
from tests.waiting import DEADLINE_S, first_line, wait_for

OK = {'id': 'a1', 'data': {'status': 'OK'}}
REPLY = {'action': OK, 'cluster': None, 'nodes': {}, 'decisions': []}
HEARTBEAT_S = 4
PROGRAM = Path(__file__).parent / 'replies_program.py'


@pytest.fixture
def name():
    return f'test-receiver-{uuid.uuid4().hex}'


@pytest.fixture
def client(broker_url):
    with closing(PolicyClient(broker_url)) as client:
        yield client


def publish(url, name, *request_ids, **headers):
    """Publish replies as a worker does, or with headers."""
    with amqp_connection(url) as connection:
        channel = connection.channel()
        for request_id in request_ids:
            message = cast_message('policy_checked', request_id=request_id, reply=REPLY)
            message.properties['application_headers'] = headers
            channel.basic_publish(message, exchange=name, routing_key=name)


def test_replies_of_a_worker_reach_the_callback_with_their_request_ids(start_worker, name):
    """A decided cast gets its reply as an object, a refused one gets the error of a call."""
    worker, received = start_worker(), queue.SimpleQueue()
    unknown = {**GOOD['policies'][0], 'spec': {'type': 'no.such.policy', 'version': '1.0'}}
    with (
        closing(worker.client()) as client,
        client.serve_replies(name, name, lambda *reply: received.put(reply)),
    ):
        to = ReplyTo(name, name, 'policy_checked')
        decided = client.cast_check(GOOD, to)
        refused = client.cast_check({**GOOD, 'policies': [unknown]}, to, {'request_id': 'r2'})
        replies = dict(received.get(timeout=DEADLINE_S) for _ in range(2))

    assert isinstance(replies[decided], CheckReply)
    assert replies[decided].action.data['status'] == 'OK'
    assert isinstance(replies[refused], errors.PolicyTypeNotFound)
    wait_for(lambda: message_count(worker.url, name) == 0)


def test_receiver_killed_between_delivery_and_acknowledgement_loses_no_reply(
    broker_url, client, name, tmp_path
):
    """The next receiver gets every reply, also the one that the killed process had begun."""
    notes = tmp_path / 'notes'
    notes.touch()
    sent = {f'r{number}' for number in range(20)}
    command = [sys.executable, str(PROGRAM), broker_url, name, str(notes)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        # the queue exists before it is bound; replies published in between would be lost
        assert first_line(program) == 'receiving\n'
        publish(broker_url, name, *sent)
        wait_for(notes.read_text)
    finally:
        program.kill()
        program.communicate()

    received = queue.SimpleQueue()
    with client.serve_replies(name, name, lambda *reply: received.put(reply[0])):
        again = [received.get(timeout=DEADLINE_S) for _ in sent]

    assert set(again) == sent
    assert notes.read_text().strip() in again
    wait_for(lambda: message_count(broker_url, name) == 0)


def test_callback_that_raises_gets_the_reply_again_until_it_is_dropped(
    broker_url, client, name, monkeypatch, caplog
):
    """The count of deliveries is of one reply and queue, and the other replies still arrive."""
    monkeypatch.setattr(reply_receiver, 'RETRY_S', 0.01)
    monkeypatch.setattr(reply_receiver, 'DELIVERIES', 3)
    received = queue.SimpleQueue()

    def callback(request_id, _):
        received.put(request_id)
        if request_id == 'bad':
            raise ValueError('no')

    with client.serve_replies(name, name, callback):
        publish(broker_url, name, 'bad', 'good', **{'x-delivery-count': 10})
        calls = [received.get(timeout=DEADLINE_S) for _ in range(4)]
        wait_for(lambda: 'Dropped' in caplog.text)

    assert sorted(calls) == ['bad', 'bad', 'bad', 'good']
    assert "Dropped the reply to request 'bad' after 3 deliveries: no" in caplog.messages
    wait_for(lambda: message_count(broker_url, name) == 0)


def test_callback_that_takes_longer_than_the_heartbeat_is_called_once(broker_url, name, caplog):
    """A slow callback does not lose the connection, which would deliver its reply again."""
    caplog.set_level(logging.WARNING)
    received = queue.SimpleQueue()

    def callback(request_id, _):
        if request_id == 'slow':
            time.sleep(3 * HEARTBEAT_S)  # the broker closes a silent connection after two periods
        received.put(request_id)

    with (
        closing(PolicyClient(f'{broker_url}?heartbeat_timeout_threshold={HEARTBEAT_S}')) as client,
        client.serve_replies(name, name, callback),
    ):
        publish(broker_url, name, 'slow', 'next')
        calls = [received.get(timeout=DEADLINE_S) for _ in range(2)]

    assert calls == ['slow', 'next']
    assert 'Lost the connection' not in caplog.text


def test_stop_leaves_replies_that_were_not_handled_in_the_queue(broker_url, client, name):
    """Replies that arrive after the end of the receiver wait for the next one."""
    received = queue.SimpleQueue()

    def callback(request_id, _):
        received.put(request_id)
        receiver.stop()

    receiver = client.serve_replies(name, name, callback)
    publish(broker_url, name, 'r1', 'r2', 'r3')
    first = received.get(timeout=DEADLINE_S)
    receiver.stop()

    wait_for(lambda: message_count(broker_url, name) == 2)
    assert first == 'r1'
    assert received.empty()


def test_queue_that_is_no_quorum_queue_is_an_error_with_the_remedy(broker_url, client, name):
    """A queue without delivery counts is not used."""
    with amqp_connection(broker_url) as connection:
        connection.channel().queue_declare(name, durable=True, auto_delete=False)

    with pytest.raises(errors.QueueMismatch, match=f'queue {name} exists'):
        client.serve_replies(name, name, lambda *_: None)


def test_receiver_outlives_a_restart_of_the_broker(own_broker, name, caplog):
    """After an outage the receiver gets replies again."""
    caplog.set_level(logging.INFO)
    received = queue.SimpleQueue()
    with (
        closing(PolicyClient(own_broker.url)) as client,
        client.serve_replies(name, name, lambda *reply: received.put(reply[0])),
    ):
        publish(own_broker.url, name, 'before')
        assert received.get(timeout=DEADLINE_S) == 'before'
        own_broker.control('stop_app')
        wait_for(lambda: 'Lost the connection to the broker' in caplog.text)
        own_broker.control('start_app')
        wait_for(lambda: 'Reconnected to the broker' in caplog.text)
        publish(own_broker.url, name, 'after')

        assert received.get(timeout=DEADLINE_S) == 'after'
