"""Where `reply_to` may send replies: they are published with the permissions of the worker, not of
the caller.
"""

import fnmatch
from collections.abc import Collection, Sequence

from placement_worker.contract.model import ReplyTo
from placement_worker.contract.topics import EXCHANGE
from placement_worker.errors import InvalidRequest

RESERVED = 'amq.'
"""Prefix of the exchanges that the broker makes itself."""


class Destinations:
    """The exchanges and topics that `reply_to` may name."""

    def __init__(
        self,
        allowed: Sequence[str] = (),
        *,
        exchange: str = EXCHANGE,
        queues: Collection[str] = (),
        notification_topics: Collection[str] = (),
    ) -> None:
        """Prepare.

        :param allowed: patterns `exchange` or `exchange/topic`; empty allows all that is not
            forbidden.
        :param exchange: the worker's own.
        :param queues: the worker's isolation queue and parking lot.
        :param notification_topics: without the priorities that oslo.messaging appends to them.
        """
        self._allowed = [pattern if '/' in pattern else f'{pattern}/*' for pattern in allowed]
        self._exchange = exchange
        self._queues = queues
        self._notification_topics = notification_topics

    def check(self, to: ReplyTo) -> None:
        """Return if a reply may go there.

        :raises InvalidRequest: it must not.
        """
        refusal = self._refusal(to)
        if refusal:
            raise InvalidRequest(f'{refusal} - at `$.reply_to`')

    def _refusal(self, to: ReplyTo) -> str | None:
        if not to.exchange or to.exchange.startswith(RESERVED) or to.exchange == self._exchange:
            return f"Expected an exchange that is neither the broker's nor the worker's own, got `{to.exchange}`"
        if _is_below(to.topic, self._notification_topics):
            return f'Expected a topic that carries no notifications, got `{to.topic}`'
        if _is_below(to.topic, self._queues):
            return f'Expected a topic that is no queue of the worker, got `{to.topic}`'
        if self._allowed and not self._is_listed(to):
            return f'Expected what [worker] reply_to_allowed lists, got `{to.exchange}/{to.topic}`'
        return None

    def _is_listed(self, to: ReplyTo) -> bool:
        return any(
            fnmatch.fnmatchcase(f'{to.exchange}/{to.topic}', pattern) for pattern in self._allowed
        )


def _is_below(topic: str, names: Collection[str]) -> bool:
    """Return whether a topic is one of the names, or one with a suffix such as a priority or a
    host.
    """
    return any(topic == name or topic.startswith(f'{name}.') for name in names)
