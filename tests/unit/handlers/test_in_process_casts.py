"""Casts in this process."""

import pytest

from placement_worker.errors import WorkerFailed
from placement_worker.handlers.in_process_casts import Replies

HERE, THERE = ('engine', 'replies'), ('engine', 'others')
FIRST, SECOND = WorkerFailed('first'), WorkerFailed('second')


@pytest.fixture
def replies():
    return Replies()


@pytest.fixture
def taken():
    return []


@pytest.fixture
def take(taken):
    return lambda *reply: taken.append(reply)


def test_replies_before_their_callback_wait_in_order(replies, taken, take):
    """A callback gets the replies of its place alone, also those before it was there."""
    replies.add(HERE, 'a', FIRST)
    replies.add(THERE, 'b', FIRST)
    replies.add(HERE, 'c', SECOND)

    replies.serve(HERE, take)

    assert taken == [('a', FIRST), ('c', SECOND)]


def test_replies_after_the_end_of_a_receiver_wait_for_the_next(replies, taken, take):
    """A stopped callback gets no reply; the next one of the place gets it."""
    with replies.serve(HERE, lambda *_: pytest.fail('The callback is stopped')):
        pass
    replies.add(HERE, 'a', FIRST)

    assert taken == []
    replies.serve(HERE, take)
    assert taken == [('a', FIRST)]


def test_reply_to_a_cast_of_a_callback_follows_after_the_callback(replies, taken):
    """A callback that casts again has returned before it gets the next reply."""

    def take(*reply):
        if not taken:
            replies.add(HERE, 'b', SECOND)
        taken.append(reply)

    replies.serve(HERE, take)
    replies.add(HERE, 'a', FIRST)

    assert taken == [('a', FIRST), ('b', SECOND)]


def test_callback_that_raises_gets_its_reply_again(replies, taken, take):
    """The reply is taken when the callback has returned, as a message is acknowledged."""
    receiver = replies.serve(HERE, int)
    with pytest.raises(TypeError):
        replies.add(HERE, 'a', FIRST)
    receiver.stop()

    replies.serve(HERE, take)

    assert taken == [('a', FIRST)]
