"""Requests that kill who works on them: handled alone first, then put aside.

The broker counts how often it delivered a request that was not acknowledged. Above a bound the
request goes to the queue of suspects, where each process takes one at a time, so that its
neighbours are not counted along any further; if it comes back from there too, it goes to the queue
of parked ones, until an operator retries or drops it.
"""

import datetime
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kombu.connection import Connection

SUSPECTS, PARKED = '-suspects', '-parked'
"""What the names of the two queues add to that of the topic."""
SUSPECT_DELIVERIES = (
    1  # a suspect may come back once: a stop or a lost connection are no fault of its own
)
PARKED_ID, PARKED_AT, PARKED_FROM = 'parked-id', 'parked-at', 'parked-from'
RETRIED = 'retried'
"""Header that tells a retried request from the one that was parked: their unique ids are the
same.
"""


@dataclass(frozen=True, slots=True)
class Diversion:
    """Where a request goes that was delivered more than `deliveries` times without being
    acknowledged.

    `parks`: nobody handles it there, so its caller is told.
    """

    deliveries: int
    queue: str
    parks: bool


@dataclass(frozen=True, slots=True)
class Parked:
    """A parked request; `body` is the message as it was sent."""

    id: str
    parked_at: str
    topic: str
    deliveries: int
    body: Any
    message: Any


def forward(connection: Connection, message: Any, queue: str) -> None:
    """Publish a message again, as it is, to a queue; return when the broker has confirmed it.

    :param connection: made to confirm what is published.
    :param message: as kombu received it.
    """
    headers = {key: value for key, value in message.headers.items() if key != 'x-delivery-count'}
    headers.setdefault(PARKED_FROM, message.delivery_info.get('routing_key'))
    if queue.endswith(PARKED):
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')
        headers |= {PARKED_ID: uuid.uuid4().hex[:12], PARKED_AT: at}
    _publish(connection, message, queue, headers)


def parked(connection: Connection, queue: str, most: int) -> Iterator[Parked]:
    """The parked requests, oldest first; they stay where they are, unless the caller acknowledges
    the message.

    Closing the connection gives back what was not acknowledged.
    """
    channel = connection.channel()
    for _ in range(most):
        message = channel.basic_get(queue, no_ack=False)
        if message is None:
            return
        received = channel.message_to_python(message)
        headers = received.headers
        yield Parked(
            id=str(headers.get(PARKED_ID)),
            parked_at=str(headers.get(PARKED_AT)),
            topic=str(headers.get(PARKED_FROM)),
            deliveries=int(headers.get('x-delivery-count', 0)),
            body=received.body,
            message=received,
        )


def retry(connection: Connection, one: Parked) -> None:
    """Send a parked request to where it came from, as if it had never been tried."""
    ours = (PARKED_ID, PARKED_AT, PARKED_FROM, 'x-delivery-count')
    headers = {key: value for key, value in one.message.headers.items() if key not in ours}
    _publish(connection, one.message, one.topic, {**headers, RETRIED: one.id})
    one.message.ack()


def _publish(connection: Connection, message: Any, queue: str, headers: dict[str, Any]) -> None:
    with connection.Producer() as producer:
        producer.publish(
            message.body,
            exchange='',
            routing_key=queue,
            headers=headers,
            content_type=message.content_type,
            content_encoding=message.content_encoding,
            delivery_mode=2,
            mandatory=True,
        )
