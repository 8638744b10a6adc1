"""Requests and replies that exceed the broker's limit of the size of a message."""

import queue
from contextlib import closing

import pytest

from placement_worker.errors import InvalidRequest, ReplyTooLarge
from tests.broker import Broker
from tests.factories import node, request, zone_policy
from tests.waiting import DEADLINE_S

MAX_BYTES = 20_000
# The reply has a place for each of the new nodes, and the request only their number.
LARGE = request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs={'count': 900})
TOO_LARGE = request(
    'CLUSTER_SCALE_OUT', [zone_policy('a')], [node(1, data={'text': 'x' * MAX_BYTES})]
)
SMALL = request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs={'count': 1})
SIZES = rf'message size \d{{5,6}} is larger than configured max size {MAX_BYTES}'


@pytest.fixture(scope='module')
def client(start_worker):
    """A client of a worker whose broker takes small messages only."""
    with closing(Broker()) as broker:
        broker.configure(f'max_message_size = {MAX_BYTES}\n')
        worker = start_worker(url=broker.start().url)
        with closing(worker.client()) as client:
            yield client


def test_request_that_is_too_large_is_refused_with_both_sizes(client):
    """The engine learns that it must send less, instead of trying again."""
    with pytest.raises(InvalidRequest, match=f'^The broker refused the request: .*{SIZES}'):
        client.policy_check(TOO_LARGE)

    assert client.policy_check(SMALL).action.data['status'] == 'OK'


def test_reply_that_is_too_large_is_an_error_with_both_sizes(client):
    """The caller of such a check gets the error at once, and so does the receiver of a cast."""
    name, received = 'test-message-size', queue.SimpleQueue()
    assert client.policy_check(SMALL).action.data['status'] == 'OK'

    with pytest.raises(ReplyTooLarge, match=SIZES):
        client.policy_check(LARGE)
    with client.serve_replies(name, name, lambda _, reply: received.put(reply)):
        client.cast_check(LARGE, {'exchange': name, 'topic': name, 'method': 'policy_checked'})
        reply = received.get(timeout=DEADLINE_S)

    with pytest.raises(ReplyTooLarge, match=SIZES):
        raise reply
    assert client.policy_check(SMALL).action.data['status'] == 'OK'
