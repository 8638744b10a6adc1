"""The exchanges and topics at which no engine may receive replies to casts.

Workers and clients apply the same rules, so that a client can refuse a name before it sends it.
"""

from collections.abc import Collection

from placement_worker.errors import InvalidRequest

RESERVED = 'amq.'
"""The prefix of the exchanges that the broker creates itself."""


def check_exchange(exchange: str, workers_exchange: str, at: str) -> None:
    """Check that replies may be sent to an exchange.

    :param at: the JSON path for the error.
    :raises InvalidRequest: the exchange is the broker's or the workers' own.
    """
    if not exchange or exchange.startswith(RESERVED) or exchange == workers_exchange:
        raise InvalidRequest(
            "Expected an exchange that is neither the broker's nor the workers' own, "
            f'got `{exchange}` - at `{at}`'
        )


def check_topic(topic: str, queues: Collection[str], at: str) -> None:
    """Check that a topic is no queue of the workers, with or without a host.

    :raises InvalidRequest: the topic names a queue of the workers.
    """
    if is_below(topic, queues):
        raise InvalidRequest(
            f'Expected a topic that is no queue of the workers, got `{topic}` - at `{at}`'
        )


def is_below(topic: str, names: Collection[str]) -> bool:
    """Return whether a topic is one of the names, or one of them with a suffix.

    A suffix is for example a priority or a host.
    """
    return any(topic == name or topic.startswith(f'{name}.') for name in names)
