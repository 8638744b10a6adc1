"""AMQP messages in the wire format 2.0 of oslo.messaging."""

from collections.abc import Mapping
from typing import Any

import msgspec
from amqp import Message


def enveloped_message(message: Mapping[str, Any], **properties: Any) -> Message:
    """Return an AMQP message in an envelope of oslo.messaging: JSON inside JSON.

    :param properties: further properties of the AMQP message.
    """
    encoded = msgspec.json.encode(message).decode()
    return amqp_message({'oslo.version': '2.0', 'oslo.message': encoded}, **properties)


def amqp_message(envelope: Mapping[str, object], **properties: Any) -> Message:
    """Return the AMQP message for an envelope of oslo.messaging, or for a message without one."""
    return Message(
        msgspec.json.encode(envelope),
        content_type='application/json',
        content_encoding='utf-8',
        delivery_mode=2,
        **properties,
    )
