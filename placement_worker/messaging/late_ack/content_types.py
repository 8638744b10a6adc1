"""Drop messages whose content type the driver cannot read, with a message that names it."""

import logging
from collections.abc import Callable
from typing import Any

LOG = logging.getLogger(__name__)
JSON = 'application/json'
"""The content type of every message of oslo.messaging."""


def only_json(callback: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a callback of a consumer that drops messages of other content types.

    Without it, the driver drops them and logs a traceback that does not name the content type.

    :param callback: takes a message of py-amqp.
    """

    def take(message: Any) -> None:
        content_type = message.properties.get('content_type')
        if content_type == JSON:
            callback(message)
            return
        LOG.warning('Dropped a message: expected content_type %s, got %.80r', JSON, content_type)
        message.channel.basic_reject(message.delivery_tag, requeue=False)

    return take
