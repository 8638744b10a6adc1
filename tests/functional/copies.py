"""Copies of the requests and notifications that go through the exchange of the workers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from placement_worker.contract.rpc import EXCHANGE
from tests.functional.conftest import amqp
from tests.waiting import wait_for


class Copy(NamedTuple):
    """A message of oslo.messaging and its routing key."""

    routing_key: str
    message: dict[str, Any]


Take = Callable[..., list[Copy]]


@contextmanager
def copies(url: str, *routing_keys: str) -> Iterator[Take]:
    """Copy the messages with these routing keys during the block.

    The block gets a function that waits for a number of copies, and returns them in order. Its
    keyword `text` leaves out the messages without that text.
    """
    with amqp(url) as connection:
        channel = connection.default_channel
        queue = channel.queue_declare('', exclusive=True).queue
        for key in routing_keys:
            channel.queue_bind(queue, EXCHANGE, key)

        def take(count: int, text: str = '') -> list[Copy]:
            taken: list[Copy] = []

            def is_enough() -> bool:
                while (copy := channel.basic_get(queue, no_ack=True)) is not None:
                    message = json.loads(copy.body)['oslo.message']
                    if text in message:
                        key = copy.delivery_info['routing_key']
                        taken.append(Copy(key, json.loads(message)))
                return len(taken) >= count

            wait_for(is_enough)
            return taken

        yield take
