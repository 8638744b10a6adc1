"""The errors of calls that fail."""

import oslo_messaging
import pytest

from placement_worker import errors
from placement_worker.client.call_errors import raise_for
from placement_worker.contract.rpc import TOPIC


@pytest.mark.parametrize(
    ('cause', 'kind', 'message'),
    [
        (oslo_messaging.MessagingTimeout(), errors.NoWorkerAnswered, 'within 5 s'),
        (oslo_messaging.RemoteError('UnsupportedVersion'), errors.WorkerTooOld, 'contract 1.1'),
        (oslo_messaging.RemoteError('Boom', 'x'), errors.WorkerFailed, 'policy_check .* Boom: x$'),
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
