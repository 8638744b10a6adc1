"""Publications that wait for the confirmation of the broker in bounded time."""

import functools
import time
from collections.abc import Callable
from typing import Any

from amqp import spec
from amqp.exceptions import MessageNacked
from oslo_messaging._drivers import impl_rabbit
from typing_extensions import override

CONFIRM_S = 8  # the longest wait for a confirmation; most elections of leaders take 6 to 7 s
TICK_S = 1  # shorter than the interval of heartbeats
NOT_CONFIRMED = 'no confirmation'
CONFIRMATIONS = [spec.Basic.Ack, spec.Basic.Nack]


class _BoundedConnection(impl_rabbit.Connection):
    """Limit the wait for a confirmation, unless the broker blocks publishers."""

    _is_blocked = False

    @override
    def _set_current_channel(self, new_channel: Any) -> None:
        super()._set_current_channel(new_channel)
        if new_channel is not None:
            publish = functools.partial(publish_confirmed, new_channel, self._give_up)
            new_channel.basic_publish = publish

    def _give_up(self, waited_s: float) -> None:
        if waited_s > CONFIRM_S and not self._is_blocked:
            self.connection.collect()  # an orderly close would wait for the same broker
            raise TimeoutError(NOT_CONFIRMED)

    @override
    def _on_connection_blocked(self, reason: str) -> None:
        self._is_blocked = True
        super()._on_connection_blocked(reason)

    @override
    def _on_connection_unblocked(self) -> None:
        self._is_blocked = False
        super()._on_connection_unblocked()


def limit_wait(transport: Any) -> None:
    transport._driver._connection_pool.connection_cls = _BoundedConnection


def publish_confirmed(
    channel: Any, give_up: Callable[[float], object], *arguments: Any, **options: Any
) -> None:
    """Publish a message, and wait for its confirmation until `give_up` raises an error.

    Heartbeats go on while a queue has no leader, and each one starts the time limit of py-amqp
    again.

    :param give_up: gets the seconds of the wait, about once in `TICK_S`.
    """
    began = time.monotonic()
    try:
        channel.basic_publish_confirm(*arguments, **{**options, 'confirm_timeout': TICK_S})
    except TimeoutError:
        while not _is_confirmed(channel):
            give_up(time.monotonic() - began)


def _is_confirmed(channel: Any) -> bool:
    try:
        channel.wait(CONFIRMATIONS, callback=_raise_nack, timeout=TICK_S)
    except TimeoutError:
        return False
    return True


def _raise_nack(method: Any, *_: Any) -> None:
    if method == spec.Basic.Nack:
        raise MessageNacked
