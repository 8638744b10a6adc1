"""Messages whose content type the driver cannot read."""

import pytest

from placement_worker.messaging.late_ack import content_types


class Message:
    """A message of py-amqp, which is its own channel."""

    delivery_tag = 7

    def __init__(self, **properties):
        self.properties = properties
        self.channel = self
        self.rejected = []

    def basic_reject(self, delivery_tag, requeue):
        self.rejected.append((delivery_tag, requeue))


def test_message_of_the_content_type_json_reaches_the_consumer(caplog):
    """A message of oslo.messaging is taken, and nothing is logged."""
    taken, message = [], Message(content_type='application/json')

    content_types.only_json(taken.append)(message)

    assert (taken, message.rejected, caplog.messages) == ([message], [], [])


@pytest.mark.parametrize(
    ('properties', 'shown'),
    [
        ({}, 'None'),
        ({'content_type': 'text/plain'}, "'text/plain'"),
        ({'content_type': 'a\nb'}, r"'a\nb'"),
    ],
)
def test_message_of_another_content_type_is_rejected_with_a_warning(caplog, properties, shown):
    """The message is not requeued, and the log names what it lacks."""
    taken, message = [], Message(**properties)

    content_types.only_json(taken.append)(message)

    assert (taken, message.rejected) == ([], [(7, False)])
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ('WARNING', f'Dropped a message: expected content_type application/json, got {shown}')
    ]
