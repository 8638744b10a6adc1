"""The private names of oslo.messaging that the package uses, and its independence."""

import inspect
import re
from pathlib import Path

import pytest
from oslo_messaging import server as messaging_server
from oslo_messaging._drivers import amqp, amqpdriver, base, common, impl_rabbit
from oslo_messaging.rpc import dispatcher as rpc_dispatcher
from oslo_messaging.rpc import server as rpc_server

from placement_worker import late_ack

PARAMETERS = {
    amqpdriver.AMQPIncomingMessage.__init__: (
        'self listener ctxt message unique_id msg_id reply_q client_timeout obsolete_reply_queues '
        'message_operations_handler'
    ),
    amqpdriver.AMQPIncomingMessage.reply: 'self reply failure',
    amqpdriver.AMQPIncomingMessage.heartbeat: 'self',
    amqp._add_unique_id: 'msg',
    common.serialize_msg: 'raw_msg',
    common.serialize_remote_exception: 'failure_info',
    base.PollStyleListenerAdapter.__init__: 'self poll_style_listener batch_size batch_timeout',
    base.PollStyleListener.poll: 'self timeout batch_size batch_timeout',
    base.PollStyleListener.__init__: 'self prefetch_size',
    amqpdriver.AMQPDriverBase._get_connection: 'self purpose retry',
    amqpdriver.AMQPDriverBase._get_exchange: 'self target',
    impl_rabbit.Connection.declare_topic_consumer: 'self exchange_name topic callback queue_name',
    impl_rabbit.Connection.ensure_connection: 'self',
    impl_rabbit.Connection._heartbeat_check: 'self',
    impl_rabbit.Connection._heartbeat_supported_and_enabled: 'self',
    impl_rabbit.Connection._on_connection_blocked: 'reason',
    impl_rabbit.Connection._on_connection_unblocked: '',
    impl_rabbit.Connection._set_current_channel: 'self new_channel',
    impl_rabbit.Connection.close: 'self',
    impl_rabbit.Consumer.consume: 'self conn tag',
    impl_rabbit.Consumer._callback: 'self message',
    impl_rabbit.RabbitMessage.acknowledge: 'self',
    impl_rabbit.RabbitMessage.requeue: 'self',
    amqp.unpack_context: 'msg',
    rpc_server.RPCServer._create_listener: 'self',
    rpc_server.RPCServer._process_incoming: 'self incoming',
    rpc_server.RPCServer.__init__: 'self transport target dispatcher executor',
}


@pytest.mark.parametrize('function', PARAMETERS, ids=lambda function: function.__qualname__)
def test_private_functions_have_the_parameters_that_are_used(function):
    """A release of oslo.messaging that changes the parameters of a private function fails here."""
    assert ' '.join(inspect.signature(function).parameters) == PARAMETERS[function]


CODE = {
    rpc_server.RPCServer._process_incoming: [
        'incoming[0]', 'message.acknowledge()', 'message.reply(res)',
    ],
    rpc_server.RPCServer.__init__: ['self._target = target'],
    rpc_dispatcher.RPCDispatcher._watchdog: [
        'incoming.heartbeat()\n            except Exception', 'break',
    ],
    messaging_server.MessageHandlingServer.__init__: ['self.listener = None'],
    messaging_server.MessageHandlingServer.start: ['self.listener = self._create_listener()'],
    base.PollStyleListenerAdapter.__init__: ['self._poll_style_listener = poll_style_listener'],
    base.PollStyleListenerAdapter.stop: ['_poll_style_listener.stop()', '_listen_thread.join()'],
    base.PollStyleListenerAdapter._runner: ['while self._started', 'if not incoming'],
    amqpdriver.AMQPIncomingMessage.reply: ['self.listener.driver', 'self.orig_msg_id'],
    amqpdriver.AMQPIncomingMessage._send_reply: [
        "'result': reply, 'failure': failure, 'ending': ending", "'_msg_id': self.msg_id",
        'self.reply_q',
    ],
    amqpdriver.AMQPDriverBase.listen: ['declare_topic_consumer', "'{}.{}'.format(target.topic"],
    impl_rabbit.RabbitMessage.__init__: ['self._raw_message = raw_message'],
    impl_rabbit.Connection.__init__: [
        "'confirm_publish': True", "'on_blocked': self._on_connection_blocked",
        "'on_unblocked': self._on_connection_unblocked",
    ],
    impl_rabbit.Connection.declare_consumer: ['self._consumers[consumer] = tag'],
    impl_rabbit.Connection.ensure_connection: [
        'max_retries=self.max_retries', '_set_current_channel(None)',
    ],
    impl_rabbit.Connection._set_current_channel: [
        'for consumer in self._consumers', 'consumer.declare(self)',
    ],
    impl_rabbit.Consumer.consume: ['callback=self._callback', 'consumer_tag=str(tag)'],
    impl_rabbit.Consumer.declare: ['self.queue.declare()'],
    impl_rabbit.Consumer._callback: ['self.callback(RabbitMessage(message))', 'message.reject()'],
    common.ConnectionContext.__init__: ['self.connection = connection_pool.create(purpose)'],
}  # fmt: skip


@pytest.mark.parametrize('function', CODE, ids=lambda function: function.__qualname__)
def test_private_functions_have_the_code_that_is_relied_on(function):
    """A release that changes the behavior of a private function fails here."""
    source = inspect.getsource(function)

    assert [word for word in CODE[function] if word not in source] == []


def test_private_names_exist():
    """A release that removes a private name fails here."""
    assert amqp.UNIQUE_ID == '_unique_id'
    assert issubclass(impl_rabbit.RabbitDriver, amqpdriver.AMQPDriverBase)
    assert common.PURPOSE_LISTEN
    assert amqpdriver.ObsoleteReplyQueuesCache


def test_package_imports_nothing_else_of_this_one():
    """The server is of use to any project."""
    for file in Path(late_ack.__file__).parent.glob('*.py'):
        imported = re.findall(r'^from (placement_worker\S*)', file.read_text(), re.MULTILINE)
        assert all(name.startswith(late_ack.__name__) for name in imported), file.name
