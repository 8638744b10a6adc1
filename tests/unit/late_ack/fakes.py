"""Fakes of the driver and of the listening connection."""

import collections
import itertools
import json
import weakref

import oslo_messaging
import pytest
from amqp import spec
from oslo_config import cfg

TARGET = oslo_messaging.Target(topic='t', server='s')


class Driver:
    prefetch_size = 8


class Connection:
    """A ListenConnection with prepared deliveries, which refuses the first reconnections."""

    host = 'broker:5672'

    def __init__(self):
        self.waiting = []
        self.idle = lambda: None
        self.is_connected = True
        self.has_consumers = True
        self.refusals = 0
        self.attempts = 0

    def wait(self, timeout_s):
        if self.waiting:
            self.waiting.pop(0)()
        else:
            self.idle()

    def lose(self):
        self.is_connected = False
        raise ConnectionError('gone')

    def reconnect(self):
        self.attempts += 1
        if self.attempts <= self.refusals:
            raise ConnectionRefusedError('refused')
        self.is_connected = True

    def cancel_consumers(self):
        self.has_consumers = False


class Channel:
    """A channel of py-amqp that returns a delivery to its queue."""

    def __init__(self):
        self.deliveries = weakref.WeakValueDictionary()
        self.tags = itertools.count()

    def send_method(self, method, _, arguments):
        tag, multiple, requeue = arguments
        assert (method, multiple, requeue) == (spec.Basic.Nack, False, True)
        self.deliveries[tag]._settle('given back')


CHANNELS = collections.defaultdict(Channel)


class Raw:
    def __init__(self, channel, redelivered):
        self.channel = CHANNELS[channel]
        self.delivery_tag = next(self.channel.tags)
        self.delivery_info = {'redelivered': redelivered}
        self.headers = {}
        self.properties = {}
        self.body = b'{}'
        self.is_rejected = False

    def reject(self):
        self.is_rejected = True


class Delivery(dict):
    """A RabbitMessage of the driver."""

    def __init__(self, unique_id, channel='channel-1', redelivered=False, broken=False):
        super().__init__({'method': 'm'} | ({} if unique_id is None else {'_unique_id': unique_id}))
        self._raw_message = Raw(channel, redelivered)
        self._raw_message.channel.deliveries[self._raw_message.delivery_tag] = self
        self.settled = []
        self.broken = broken

    def acknowledge(self):
        self._settle('acknowledged')

    def requeue(self):
        self._settle('requeued')

    def _settle(self, how):
        if self.broken:
            raise ConnectionError('gone')
        self.settled.append(how)


def deliver(listener, *deliveries):
    for delivery in deliveries:
        listener(delivery)


def taken(listener, delivery):
    """Deliver a request, and return it when it has begun."""
    deliver(listener, delivery)
    (request,) = listener.poll()
    request.begin()
    return request


def turn(listener, connection):
    """Run one cycle of the polling thread without a delivery."""

    class EndOfCycle(BaseException):
        pass

    def stop():
        raise EndOfCycle

    connection.idle = stop
    with pytest.raises(EndOfCycle):
        listener.poll()


class Transport:
    """A transport of RabbitMQ without a connection."""

    conf = cfg.CONF

    def _require_driver_features(self, **features):
        pass


class Sent:
    def __init__(self, raising=None):
        self.replies = []
        self.messages = []
        self._raising = raising

    def __call__(self, reply):
        if self._raising:
            raise self._raising
        if reply.is_last:
            self.replies.append(
                (reply.routing_key, json.loads(json.loads(reply.message.body)['oslo.message']))
            )
        else:
            self.messages.append((reply.routing_key, reply.message))


class Endpoint:
    target = oslo_messaging.Target(version='1.0')

    @oslo_messaging.expose
    def get_capabilities(self, context, request):
        return {'policy_types': []}


CALL = {
    'method': 'get_capabilities',
    'args': {'request': {}},
    '_msg_id': 'm1',
    '_reply_q': 'reply_1',
    '_unique_id': 'u1',
}
