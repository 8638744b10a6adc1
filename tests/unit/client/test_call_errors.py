"""The errors of calls that fail."""

import oslo_messaging
import pytest
from kombu.exceptions import OperationalError

from placement_worker import errors
from placement_worker.client.call_errors import not_sent, raise_for
from placement_worker.contract.rpc import TOPIC


@pytest.mark.parametrize(
    ('cause', 'kind', 'message'),
    [
        (oslo_messaging.MessagingTimeout(), errors.NoWorkerAnswered, 'within 5 s'),
        (oslo_messaging.RemoteError('UnsupportedVersion'), errors.WorkerTooOld, 'contract 1.1'),
        (oslo_messaging.RemoteError('Boom', 'x'), errors.WorkerFailed, 'policy_check .* Boom: x$'),
        (OperationalError('timed out'), errors.BrokerUnreachable, 'not respond: timed out$'),
        (KeyError('x\nTraceback'), errors.WorkerFailed, 'KeyError: '),
    ],
    ids=lambda value: type(value).__name__,
)
def test_raise_for_an_error_of_a_call_raises_an_error_of_the_package(cause, kind, message):
    """A caller handles the errors of this package alone, and finds the original as the cause."""
    with pytest.raises(kind, match=message) as raised:
        raise_for(cause, 'policy_check', '1.1', TOPIC, 5.0)

    assert raised.value.__cause__ is cause


def test_raise_for_another_error_of_the_transport_raises_it_again():
    """An error of oslo.messaging that says nothing of the worker stays as it is."""
    cause = oslo_messaging.MessagingException('another')

    with pytest.raises(oslo_messaging.MessagingException) as raised:
        raise_for(cause, 'policy_check', '1.1', TOPIC, 5.0)

    assert raised.value is cause


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        (
            'Unable to connect to AMQP server on 10.0.0.1:5672 after inf tries: Queue.declare: '
            '(403) ACCESS_REFUSED',
            '10.0.0.1:5672: Queue.declare: (403) ACCESS_REFUSED',
        ),
        ('another text', 'another text'),
    ],
)
def test_not_sent_with_a_failed_delivery_returns_the_cause_without_the_retries(text, shown):
    """A refused request is not described as a failed connection."""
    cause = oslo_messaging.MessageDeliveryFailure(text)

    assert str(not_sent(cause, TOPIC, None, 'e')) == f'The request could not be delivered: {shown}'


@pytest.mark.parametrize(
    ('server', 'worker'), [(None, 'worker'), ('a', 'worker with [worker] host = a')]
)
def test_not_sent_to_a_missing_queue_names_topic_exchange_and_host(server, worker):
    """The caller learns which worker to start, or which name to correct."""
    cause = oslo_messaging.MessageUndeliverable(None, '', '', '')

    assert str(not_sent(cause, 't', server, 'e')) == (
        f'There is no queue for topic t: no {worker} has served this topic of exchange e; start '
        'one, or correct the topic or the exchange'
    )
