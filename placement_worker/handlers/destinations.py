"""The places that `reply_to` may name.

Replies are published with the permissions of the worker, not with those of the caller.
"""

import fnmatch
from collections.abc import Collection, Sequence

from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE
from placement_worker.errors import InvalidRequest

RESERVED = 'amq.'
"""The prefix of the exchanges that the broker creates itself."""


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
        """Set the rules.

        :param allowed: patterns `exchange` or `exchange/topic`; empty to allow all places that are
            not forbidden.
        :param exchange: the exchange of the worker.
        :param queues: the isolation queue and the parking lot of the worker.
        :param notification_topics: without the priorities that oslo.messaging appends.
        """
        self._allowed = [pattern if '/' in pattern else f'{pattern}/*' for pattern in allowed]
        self._exchange = exchange
        self._queues = queues
        self._notification_topics = notification_topics

    def check(self, to: ReplyTo) -> None:
        """Check that a reply may be sent to a place.

        :raises InvalidRequest: it must not be sent there.
        """
        refusal = self._refusal(to)
        if refusal:
            raise InvalidRequest(f'{refusal} - at `$.reply_to`')

    def _refusal(self, to: ReplyTo) -> str | None:
        if not to.exchange or to.exchange.startswith(RESERVED) or to.exchange == self._exchange:
            return (
                "Expected an exchange that is neither the broker's nor the worker's own, "
                f'got `{to.exchange}`'
            )
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
    """Return whether a topic is one of the names, or one of them with a suffix.

    A suffix is for example a priority or a host.
    """
    return any(topic == name or topic.startswith(f'{name}.') for name in names)
