"""Requests whose senders expect a reply at the AMQP property `reply_to`.

oslo.messaging ignores that property. It would handle such a request as a cast, and the sender would
wait for a reply that never comes.
"""

import logging

import msgspec
from amqp import Message

from placement_worker.client.publish_errors import BrokerUnavailable, DestinationRefused
from placement_worker.errors import InvalidRequest, error_object
from placement_worker.messaging.late_ack.request import REPLY_QUEUES, LateAckRequest
from placement_worker.messaging.reply_sender import ReplySender

LOG = logging.getLogger(__name__)
CALLERS_QUEUES = (REPLY_QUEUES, 'amq.gen-', 'amq.rabbitmq.reply-to.')
"""Prefixes of the queues that get the error.

Their names are random: oslo.messaging's reply queues, those that the broker names, and direct
reply-to. Queues of workers and of notifications have no such name.
"""
CAUSE = (
    'Expected an envelope of oslo.messaging with _msg_id and _reply_q, got the AMQP property '
    'reply_to without them; doc/source/other-languages.rst describes calls and casts'
)


def expects_plain_reply(request: LateAckRequest) -> bool:
    """Return whether a request names a destination by AMQP alone, so that no reply can come."""
    return bool(_properties(request).get('reply_to')) and not request.orig_msg_id


def refuse(request: LateAckRequest, replies: ReplySender | None) -> None:
    """Log the cause, send it to the caller's queue, and drop the request."""
    destination = _properties(request)['reply_to']
    LOG.warning('Refused a message for a reply to queue %.80r: %s', destination, CAUSE)
    try:
        if replies and destination.startswith(CALLERS_QUEUES):
            replies.try_once(_error_message(request), '', destination)
    except (DestinationRefused, BrokerUnavailable) as exc:
        LOG.warning('Failed to report the refusal to queue %.80r: %s', destination, exc)
    finally:
        request.reject()


def _error_message(request: LateAckRequest) -> Message:
    correlation_id = _properties(request).get('correlation_id')
    return Message(
        msgspec.json.encode(error_object(InvalidRequest(CAUSE))),
        content_type='application/json',
        content_encoding='utf-8',
        **({'correlation_id': correlation_id} if correlation_id else {}),
    )


def _properties(request: LateAckRequest) -> dict[str, str]:
    properties: dict[str, str] = request.delivery._raw_message.properties
    return properties
