"""The connection of a message that cannot be published."""

import struct
import threading

import pytest
from amqp import Message

from placement_worker.client.confirmed_publisher import ConfirmedPublisher
from placement_worker.client.publish_errors import BrokerUnavailable


class Connection:
    """A connection of kombu, and its channel, that py-amqp cannot publish on."""

    def __init__(self, error=None):
        self.error = error or struct.error('a routing key of 300 bytes')
        self.events = {'basic_return': set()}
        self.is_open = self.connected = True
        self.reconnections = 0

    @property
    def connection(self):
        self.reconnections += not self.connected
        return self

    def channel(self):
        return self

    def confirm_select(self):
        pass

    def send_method(self, *_):
        self.connected = not isinstance(self.error, OSError)
        raise self.error

    @property
    def sock(self):
        return self

    def settimeout(self, seconds):
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


def test_publish_on_a_lost_connection_does_not_connect_again_to_close_it():
    """A lost connection is closed without the broker, so the failure is reported at once."""
    lost = Connection(ConnectionResetError('lost'))
    publisher = ConfirmedPublisher(lambda **_: lost, threading.Event())

    with pytest.raises(BrokerUnavailable, match='lost') as failed:
        publisher.publish(Message(b''), 'e', 't')

    assert failed.value.was_lost
    assert (lost.is_open, lost.reconnections) == (False, 0)


def test_publish_without_a_connection_does_not_count_as_a_lost_one():
    """A broker that is away gets no second attempt from a process that stops."""

    def connect(**_):
        raise ConnectionRefusedError('away')

    publisher = ConfirmedPublisher(connect, threading.Event())

    with pytest.raises(BrokerUnavailable, match='away') as failed:
        publisher.publish(Message(b''), 'e', 't')

    assert not failed.value.was_lost
