"""The errors of a message that is not published."""

BLOCKED = (
    'The broker has confirmed no message in time: it blocks publishers while it is short of memory '
    'or disk; run "rabbitmq-diagnostics check_local_alarms"'
)


class DestinationRefused(Exception):
    """The broker is available, but no queue has the message.

    `for_good`: whether a retry would be refused again.
    """

    def __init__(self, cause: str, *, for_good: bool = False) -> None:
        super().__init__(cause)
        self.for_good = for_good


class DestinationMissing(DestinationRefused):
    """The exchange does not exist, or no queue is bound to it for the routing key."""


class BrokerUnavailable(Exception):
    """There is no connection or no confirmation; the broker may have the message or not.

    `was_lost`: whether a connection was lost, for example in an outage that is over; a retry uses
    a new connection.
    """

    def __init__(self, cause: str, *, was_lost: bool = False) -> None:
        super().__init__(cause)
        self.was_lost = was_lost


class PublishersBlocked(BrokerUnavailable):
    """The broker is short of memory or disk, and accepts no message until its alarm ends."""

    def __init__(self) -> None:
        super().__init__(BLOCKED)
