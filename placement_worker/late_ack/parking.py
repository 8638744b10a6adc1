"""Poison messages: requests that crash the workers that handle them.

A request that was in flight at several deaths of processes moves to the isolation queue, of which
each process handles one request at a time. At one more death it moves to the parking lot, where it
stays until an operator retries or drops it.
"""

import datetime
import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kombu.connection import Connection

DELIVERY_COUNT = 'x-delivery-count'
ACQUIRED_COUNT = 'x-acquired-count'  # of RabbitMQ 4.3, which sets it on each redelivery
DEAD_LETTER = 'x-death'
PARKED_ID, PARKED_AT, PARKED_FROM = 'parked-id', 'parked-at', 'parked-from'
# The header of a retried request; its unique id is that of the request that was parked.
RETRIED = 'retried'


@dataclass(frozen=True, slots=True)
class DeathLimit:
    """The deaths after which a request moves to a queue; one that `parks` has no worker."""

    deaths: int
    queue: str
    parks: bool


@dataclass(frozen=True, slots=True)
class ParkedRequest:
    """A parked request; without `parked_at` and `topic`, no worker parked the message."""

    id: str
    parked_at: str | None
    topic: str | None
    deliveries: int
    body: Any
    message: Any


def move(connection: Connection, message: Any, limit: DeathLimit) -> str | None:
    """Publish a message unchanged to the queue of a limit; the caller acknowledges the original.

    :returns: the id of the parked request, or None if the limit does not park.
    """
    headers = {key: value for key, value in message.headers.items() if key != DELIVERY_COUNT}
    headers.setdefault(PARKED_FROM, message.delivery_info.get('routing_key'))
    if limit.parks:
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')
        headers |= {PARKED_ID: uuid.uuid4().hex[:12], PARKED_AT: at}
    _publish(connection, message, limit.queue, headers)
    return headers.get(PARKED_ID)


def parked_requests(connection: Connection, queue: str, limit: int) -> Iterator[ParkedRequest]:
    """Yield the parked requests, oldest first; those that are not acknowledged stay parked."""
    channel = connection.channel()
    for _ in range(limit):
        message = channel.basic_get(queue, no_ack=False)
        if message is None:
            return
        received = channel.message_to_python(message)
        headers, body = received.headers, received.body
        content = body if isinstance(body, bytes) else str(body).encode(errors='replace')
        yield ParkedRequest(
            id=_text(headers.get(PARKED_ID)) or hashlib.sha256(content).hexdigest()[:12],
            parked_at=_text(headers.get(PARKED_AT)),
            topic=_text(headers.get(PARKED_FROM)),
            deliveries=delivery_count(received),
            body=body,
            message=received,
        )


def retry(connection: Connection, request: ParkedRequest) -> None:
    """Move a parked request back to its topic, with a delivery count of 0.

    :raises ValueError: no worker parked the message, so its topic is unknown.
    """
    if request.topic is None:
        raise ValueError(f'No worker parked message {request.id}, so its topic is unknown')
    removed = (PARKED_ID, PARKED_AT, PARKED_FROM, DELIVERY_COUNT)
    message = request.message
    headers = {key: value for key, value in message.headers.items() if key not in removed}
    _publish(connection, message, request.topic, {**headers, RETRIED: request.id})
    message.ack()


def delivery_count(message: Any) -> int:
    """Return how often the broker delivered a message before, without an acknowledgement."""
    # RabbitMQ 4.3 adds to the count of a publisher or of a former queue, and its other count begins
    # again. The first delivery of a dead letter has both counts of its former queue.
    headers = message.headers or {}
    count = headers.get(DELIVERY_COUNT, 0)
    if not (message.delivery_info.get('redelivered') and isinstance(count, int)):
        return 0
    acquired = headers.get(ACQUIRED_COUNT)
    if not isinstance(acquired, int):
        return count
    return 0 if DEAD_LETTER in headers and count <= acquired else min(count, acquired)


def _text(header: object) -> str | None:
    return None if header is None else str(header)


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
