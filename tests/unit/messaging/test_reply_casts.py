"""The casts that carry the replies to casts."""

import json

from placement_worker.contract.model import ReplyTo
from placement_worker.messaging.reply_casts import ReplyCasts


class ReplySender:
    """Replies that are kept."""

    def __init__(self):
        self.sent = []

    def send(self, what, message, exchange, queue, left_s):
        self.sent.append((what, message, exchange, queue, left_s))


def test_reply_to_a_cast_is_sent_to_the_place_that_the_cast_names():
    """A reply is a cast to the exchange, topic and method of `reply_to`."""
    replies = ReplySender()
    to = ReplyTo(exchange='engine', topic='replies', method='policy_checked')

    ReplyCasts(replies).reply(to, 'req-1', '{"action": {}}', 12.5)

    ((what, message, *rest),) = replies.sent
    assert what == 'the reply to request req-1 (exchange engine, topic replies)'
    assert rest == ['engine', 'replies', 12.5]
    sent = json.loads(json.loads(message.body)['oslo.message'])
    assert (sent['method'], sent['args']) == (
        'policy_checked',
        {'request_id': 'req-1', 'reply': '{"action": {}}'},
    )
