"""The connection of a message that fails for a reason other than the broker."""

import struct
import threading

import pytest
from amqp import Message

from placement_worker.messaging.confirmed_publisher import ConfirmedPublisher


class Connection:
    """A connection of kombu, and its channel, that py-amqp cannot publish on."""

    def __init__(self):
        self.connection = self
        self.events = {'basic_return': set()}
        self.is_open = True

    def channel(self):
        return self

    def basic_publish_confirm(self, message, **_):
        raise struct.error('a routing key of 300 bytes')

    def send_method(self, *_):
        pass

    def collect(self):
        self.is_open = False


def test_publish_with_a_routing_key_that_amqp_cannot_hold_closes_the_connection():
    """An error that the publisher does not know leaves no connection open that nothing uses."""
    made = []

    def connect(**_):
        made.append(Connection())
        return made[-1]

    publisher = ConfirmedPublisher(connect, threading.Event())

    with pytest.raises(struct.error):
        publisher.publish(Message(b''), '', 'reply_' + 'x' * 300)

    assert [connection.is_open for connection in made] == [False]
