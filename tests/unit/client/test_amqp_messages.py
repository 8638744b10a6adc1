"""Messages in the wire format of oslo.messaging."""

from oslo_messaging._drivers import common
from oslo_serialization import jsonutils

from placement_worker.client.amqp_messages import enveloped_message


def test_enveloped_message_is_decoded_by_oslo_messaging_and_survives_a_restart_of_the_broker():
    """A stock server reads the message, and the broker writes it to its disk."""
    request = {'method': 'm', 'args': {'request': '{"name": "n\\u00e4me \\u2028"}'}}

    sent = enveloped_message(request, expiration='1000')

    assert common.deserialize_msg(jsonutils.loads(sent.body)) == request
    assert sent.properties == {
        'content_type': 'application/json',
        'content_encoding': 'utf-8',
        'delivery_mode': 2,
        'expiration': '1000',
    }
