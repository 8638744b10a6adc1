"""The places that `reply_to` may name.

Replies are published with the permissions of the worker, not with those of the caller.
"""

import fnmatch
from collections.abc import Collection, Sequence

from placement_worker.contract import rpc
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE
from placement_worker.errors import InvalidRequest


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
        rpc.check_exchange(to.exchange, self._exchange, '$.reply_to.exchange')
        rpc.check_topic(to.topic, self._queues, '$.reply_to.topic')
        if rpc.is_below(to.topic, self._notification_topics):
            raise InvalidRequest(
                f'Expected a topic that carries no notifications, got `{to.topic}` '
                '- at `$.reply_to.topic`'
            )
        if self._allowed and not self._is_listed(to):
            raise InvalidRequest(
                'Expected what [worker] reply_to_allowed lists, got '
                f'`{to.exchange}/{to.topic}` - at `$.reply_to`'
            )

    def _is_listed(self, to: ReplyTo) -> bool:
        return any(
            fnmatch.fnmatchcase(f'{to.exchange}/{to.topic}', pattern) for pattern in self._allowed
        )
