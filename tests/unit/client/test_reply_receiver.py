"""The receiver of replies: what becomes of a reply after its callback."""

import json
import threading
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from placement_worker import errors
from placement_worker.client import reply_receiver
from placement_worker.client.reply_receiver import DELIVERIES, _Dispatcher
from placement_worker.contract.model import CheckReply
from placement_worker.late_ack.request import Redeliver
from placement_worker.late_ack.server import Reject

ACTION = {'id': 'a1', 'data': {'status': 'OK'}}
REPLY = {'action': ACTION, 'cluster': None, 'nodes': {}, 'decisions': []}


@pytest.fixture
def dispatch(monkeypatch):
    """Pass a reply to a callback, as a server does."""
    monkeypatch.setattr(reply_receiver, 'RETRY_S', 0.01)

    def dispatching(callback, reply=REPLY, redeliveries=0, stopping=None):
        arguments = {'request_id': 'r1', 'reply': reply}
        message = {'method': 'm', 'args': arguments if reply is not None else {}}
        incoming = SimpleNamespace(message=message, redeliveries=redeliveries)
        _Dispatcher('replies', callback, stopping or threading.Event()).dispatch(incoming)

    return dispatching


@pytest.mark.parametrize('reply', [REPLY, json.dumps(REPLY)], ids=['object', 'JSON string'])
def test_reply_of_either_form_becomes_an_object_of_the_contract(dispatch, reply):
    """A reply is decoded, whether its request was an object or a JSON string."""
    callback = Mock()
    dispatch(callback, reply)

    request_id, outcome = callback.call_args.args
    assert request_id == 'r1'
    assert isinstance(outcome, CheckReply)
    assert outcome.action.data == {'status': 'OK'}


@pytest.mark.parametrize(
    ('name', 'kind'), [('InvalidRequest', errors.InvalidRequest), ('Other', errors.WorkerFailed)]
)
def test_error_of_a_worker_becomes_the_exception_that_a_call_raises(dispatch, name, kind):
    """A cast that failed reaches the callback as the error of a call."""
    callback = Mock()
    dispatch(callback, {'error': {'type': name, 'message': 'no'}})

    assert type(callback.call_args.args[1]) is kind


@pytest.mark.parametrize('reply', [None, 'no JSON', {'action': 1}, []])
def test_malformed_message_is_rejected_without_a_callback(dispatch, caplog, reply):
    """A message that is no reply reaches no callback and is not delivered again."""
    callback = Mock()
    with pytest.raises(Reject):
        dispatch(callback, reply)

    callback.assert_not_called()
    assert 'Dropped a malformed reply on topic replies: ' in caplog.text


@pytest.mark.parametrize('failure', [ValueError('no'), SystemExit(1)])
def test_reply_whose_callback_raises_is_delivered_again_and_logged(dispatch, failure, caplog):
    """A failing callback gets its reply again, which counts, and the log has the cause."""
    with pytest.raises(Redeliver) as raised:
        dispatch(Mock(side_effect=failure))

    assert raised.value.counted
    assert (
        "The callback failed for the reply to request 'r1' (delivery 1 of 10); "
        'it is delivered again in 0.01 s' in caplog.messages
    )
    assert caplog.records[0].exc_info[1] is failure


def test_pause_before_a_retry_grows_with_the_deliveries_and_ends_at_a_stop(
    dispatch, caplog, monkeypatch
):
    """A callback that keeps failing is not called in a hot loop, and no stop waits for it."""
    monkeypatch.setattr(reply_receiver, 'RETRY_S', 1)
    stopping = threading.Event()
    stopping.set()

    with pytest.raises(Redeliver):
        dispatch(Mock(side_effect=ValueError), redeliveries=3, stopping=stopping)

    assert 'it is delivered again in 8 s' in caplog.text


@pytest.mark.parametrize(
    ('redeliveries', 'calls', 'cause'),
    [(DELIVERIES - 1, 1, 'no'), (DELIVERIES, 0, 'the process ended during each callback')],
)
def test_reply_after_its_last_delivery_is_dropped_and_logged(
    dispatch, caplog, redeliveries, calls, cause
):
    """A reply that fails, or crashes its process, at each delivery does not do so without end."""
    callback = Mock(side_effect=ValueError('no'))
    with pytest.raises(Reject):
        dispatch(callback, redeliveries=redeliveries)

    assert callback.call_count == calls
    assert f"Dropped the reply to request 'r1' after 10 deliveries: {cause}" in caplog.messages
