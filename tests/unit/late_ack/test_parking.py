"""The headers of poison messages that are moved, parked and retried."""

import contextlib

import pytest

from placement_worker.late_ack import parking
from placement_worker.late_ack.parking import DeathLimit, ParkedRequest


class Message:
    body, content_type, content_encoding = b'{}', 'application/json', 'utf-8'

    def __init__(self, **headers):
        self.headers = headers
        self.delivery_info = {'routing_key': 't', 'redelivered': True}
        self.is_acknowledged = False

    def ack(self):
        self.is_acknowledged = True


class Connection:
    """A connection of kombu and its channel, which record what is published."""

    def __init__(self, *messages):
        self.published = []
        self._messages = list(messages)

    def channel(self):
        return self

    def basic_get(self, queue, no_ack):
        assert not no_ack, 'the message must stay in the queue'
        return self._messages.pop(0) if self._messages else None

    def message_to_python(self, message):
        return message

    @contextlib.contextmanager
    def Producer(self):  # noqa: N802  # the name in kombu
        yield self

    def publish(self, body, *, exchange, routing_key, headers, mandatory, **_):
        assert (body, exchange, mandatory) == (b'{}', '', True)
        self.published.append((routing_key, headers))


def test_move_keeps_the_headers_and_the_first_origin():
    """A moved request keeps its headers; a parked one has an id, a time and its first topic."""
    connection, sent = Connection(), {'x-delivery-count': 4, 'a': 1}
    parking.move(connection, Message(**sent), DeathLimit(3, 't-suspects', parks=False))
    (isolated,) = connection.published
    message = Message(**isolated[1])
    message.delivery_info = {'routing_key': 't-suspects'}
    parked_id = parking.move(connection, message, DeathLimit(1, 'lot', parks=True))

    kept = {'a': 1, 'parked-from': 't'}
    assert isolated == ('t-suspects', kept)
    queue, headers = connection.published[1]
    assert (headers.pop('parked-id'), len(parked_id)) == (parked_id, 12)
    assert headers.pop('parked-at').endswith('+00:00')
    assert (queue, headers) == ('lot', kept)


def test_retry_publishes_to_the_origin_and_acknowledges():
    """A retried request returns to its topic as if it had never been delivered."""
    message = Message(
        **{'parked-id': 'p1', 'parked-at': 'x', 'parked-from': 't', 'x-delivery-count': 9, 'a': 1}
    )
    connection = Connection()

    parking.retry(connection, ParkedRequest('p1', 'x', 't', 9, message.body, message))

    assert connection.published == [('t', {'a': 1, 'retried': 'p1'})]
    assert message.is_acknowledged


def test_parked_requests_are_the_oldest_up_to_the_limit_and_stay():
    """A listing acknowledges none; a message that no worker parked has an id of its content."""
    messages = [Message(**{'parked-id': 'p1'}), Message(), Message(), Message()]
    messages[2].body = b'[]'

    first, second, third = parking.parked_requests(Connection(*messages), 't-parked', 3)

    assert first.id == 'p1'
    assert len({second.id, third.id, 'None', 'p1'}) == 4
    assert (second.parked_at, second.topic) == (None, None)
    assert not any(message.is_acknowledged for message in messages)


def test_retry_of_a_message_that_no_worker_parked_is_refused():
    """The topic of the message is unknown, so it stays."""
    message = Message()
    connection = Connection(message)
    (found,) = parking.parked_requests(connection, 't-parked', 10)

    with pytest.raises(ValueError, match='No worker parked message'):
        parking.retry(connection, found)

    assert (connection.published, message.is_acknowledged) == ([], False)


@pytest.mark.parametrize(
    ('headers', 'redelivered', 'expected'),
    [
        ({'x-delivery-count': 4}, True, 4),
        ({'x-delivery-count': 4}, False, 0),
        ({}, True, 0),
        ({'x-delivery-count': '4'}, True, 0),
        ({'x-delivery-count': 2, 'x-acquired-count': 4}, True, 2),
        ({'x-delivery-count': 10, 'x-acquired-count': 1}, True, 1),
        ({'x-delivery-count': 2, 'x-acquired-count': 'many'}, True, 2),
        ({'x-delivery-count': 10, 'x-acquired-count': 10, 'x-death': []}, True, 0),
        ({'x-delivery-count': 11, 'x-acquired-count': 1, 'x-death': []}, True, 1),
    ],
)
def test_delivery_count_is_that_of_the_broker(headers, redelivered, expected):
    """A count that a publisher or a dead letter has, which RabbitMQ 4.3 passes on until it counts a
    delivery itself, neither parks a request nor drops a reply.
    """
    message = Message(**headers)
    message.delivery_info['redelivered'] = redelivered

    assert parking.delivery_count(message) == expected
