"""The bytes on the bus that the manual shows are those of oslo.messaging and of a worker."""

import ast
import json
import re
import subprocess
import sys

import kombu
import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging._drivers import impl_rabbit
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from placement_worker import errors
from placement_worker.client.transport import connect, transport_url
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.rpc import EXCHANGE, SLOW_CHECKS, TOPIC
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.late_ack.listener import LateAckListener
from placement_worker.late_ack.request import Hooks
from placement_worker.late_ack.server import LateAckServer
from placement_worker.messaging.reply_sender import ReplySender
from placement_worker.messaging.rpc_server import AccessPolicy, ContextSerializer, ExposedEndpoints
from placement_worker.policies.registry import Registry
from tests.malformed_requests import GOOD
from tests.manual.pages import ROOT, blocks
from tests.unit.late_ack.fakes import Connection, Delivery, Driver, Transport, deliver

PAGE = ROOT / 'doc' / 'source' / 'other-languages.rst'
# The bodies that the manual shows, by caption.
SHOWN = {block.caption: block.text for block in blocks(PAGE) if block.caption}
SPEC = {'type': 'senlin.policy.region_placement', 'version': '1.0'}
VALID = {'spec': {**SPEC, 'properties': {'regions': [{'name': 'R1'}]}}}
TO = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked'}


def without_ids(text):
    """Replace ids, which differ from run to run."""
    return re.sub(r'\b(reply_)?[0-9a-f]{32}\b', r'\1ID', text)


@pytest.fixture
def bus():
    """A client of oslo.messaging on kombu's memory transport, and the queue of a worker."""
    cfg.CONF([], default_config_files=[])
    transport = oslo_messaging.get_rpc_transport(cfg.CONF, url='kombu+memory:////')
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=TOPIC, version='1.0')
    client = oslo_messaging.get_rpc_client(transport, target, timeout=1)
    with kombu.Connection('memory:////') as connection:
        exchange = kombu.Exchange(EXCHANGE, 'topic', durable=False)
        queue = kombu.Queue(TOPIC, exchange, TOPIC, durable=False)(connection.channel())
        queue.declare()
        queue.purge()
        yield client, queue
    transport.cleanup()


def test_cast_of_oslo_messaging_has_the_bytes_and_properties_of_the_manual(bus):
    """The documented cast is what the installed oslo.messaging sends; it never expires."""
    client, queue = bus

    client.cast({'request_id': 'req-1'}, 'policy_validate', request=VALID)

    message = queue.get(no_ack=True)

    assert without_ids(message.body.decode()) == without_ids(SHOWN['The body of a cast'])
    assert (message.content_type, message.content_encoding) == ('application/json', 'utf-8')
    assert (message.properties['delivery_mode'], message.properties['priority']) == (2, 0)
    assert message.headers == {}
    assert 'expiration' not in message.properties


def test_call_of_oslo_messaging_has_the_bytes_and_the_expiration_of_the_manual(bus):
    """The documented call is what the installed oslo.messaging sends."""
    client, queue = bus

    with pytest.raises(oslo_messaging.MessagingTimeout):
        client.call({'request_id': 'req-1'}, 'policy_validate', request=VALID)

    message = queue.get(no_ack=True)
    assert without_ids(message.body.decode()) == without_ids(SHOWN['The body of a call'])
    assert message.properties['expiration'] == '1000'


def test_command_line_replies_to_the_line_of_the_manual_by_the_next_one():
    """A program without the bus reads the documented reply to the documented request."""
    (shown,) = [block.text for block in blocks(PAGE) if block.text.startswith('{"target"')]
    request, reply = shown.splitlines()
    cloud = str(ROOT / 'examples' / 'how-to' / 'cloud.yaml')
    check = [sys.executable, '-m', 'placement_worker', 'check', '--cloud', cloud, '--lines', '-']

    done = subprocess.run(check, input=request, capture_output=True, text=True, check=True)

    assert done.stdout == f'{reply}\n'


def test_reply_queue_of_oslo_messaging_has_the_arguments_of_the_manual():
    """The documented arguments are those that the installed oslo.messaging declares."""
    url = transport_url(cfg.CONF, 'rabbit://')
    connect(cfg.CONF, url).cleanup()  # registers the options
    ttl_s = cfg.CONF.oslo_messaging_rabbit.rabbit_transient_queues_ttl
    limit = int(url.query['rabbit_quorum_delivery_limit'])
    limits = impl_rabbit.QuorumMemConfig(limit, 0, 0)

    arguments = impl_rabbit._get_queue_arguments(False, ttl_s, True, limits, False)

    assert arguments == {'x-queue-type': 'quorum', 'x-delivery-limit': 100, 'x-expires': 1_800_000}
    page = ' '.join(PAGE.read_text().split())
    assert [f'``{key!r}: {value!r}``' in page for key, value in arguments.items()] == [True] * 3


class Sent(ReplySender):
    def __init__(self):
        self.messages = []

    def send(self, reply, left_s=0):
        self.messages.append((reply.message, reply.exchange, reply.routing_key))


@pytest.fixture
def reply():
    """Let a worker handle a message; return the message that it publishes."""
    cfg.CONF([], default_config_files=[])

    def replying(request):
        replies = Sent()
        endpoints = Endpoints(Inventory(), Registry.installed(), WorkerSettings(delivery=replies))
        dispatcher = rpc_dispatcher.RPCDispatcher(
            [ExposedEndpoints(endpoints)], ContextSerializer(), AccessPolicy
        )
        target = oslo_messaging.Target(topic='t', server='s')
        server = LateAckServer(Transport(), target, dispatcher)
        hooks = Hooks(send_reply=replies.send)
        listener = LateAckListener(Driver(), Connection(), hooks=hooks)
        delivery = Delivery('u1')
        delivery.update(request)
        deliver(listener, delivery)
        server._process_incoming(listener.poll())
        ((message, *destination),) = replies.messages
        assert message.properties == {
            'content_type': 'application/json',
            'content_encoding': 'utf-8',
            'delivery_mode': 2,
            'priority': 0,
        }
        return message.body.decode(), destination

    return replying


def test_reply_to_the_call_of_the_manual_has_the_bytes_of_the_manual(reply):
    """The documented call gets the documented reply in its reply queue."""
    request = json.loads(json.loads(SHOWN['The body of a call'])['oslo.message'])

    body, destination = reply(request)

    assert without_ids(body) == without_ids(SHOWN['The body of its reply'])
    assert json.loads(json.loads(body)['oslo.message'])['_msg_id'] == request['_msg_id']
    assert destination == ['', request['_reply_q']]


def test_failure_of_a_refused_call_has_the_keys_of_the_manual(reply):
    """A failure is documented with all of its keys."""
    args = {'request': {'type_name': 'senlin.policy.deletion-9.9'}}
    call = {'method': 'policy_type_get', 'args': args, 'version': '1.0'}

    body, _ = reply({**call, '_msg_id': 'm1', '_reply_q': 'reply_1'})

    message = json.loads(json.loads(body)['oslo.message'])
    failure, shown = json.loads(message['failure']), json.loads(SHOWN['A failure, decoded'])
    assert failure.pop('tb')[:1] == shown.pop('tb')
    assert failure == shown
    assert (message['result'], message['ending']) == (None, True)


def outcomes():
    """Return the section of the manual about the outcomes of calls."""
    return PAGE.read_text().partition('\nOutcomes\n===')[2].partition('\n\nReplies to casts\n')[0]


@pytest.mark.parametrize(
    ('change', 'name'),
    [
        ({'method': 'policy_chek'}, 'NoSuchMethod'),
        ({'version': '2.0'}, 'UnsupportedVersion'),
        ({'args': {}}, 'TypeError'),
    ],
)
def test_failure_of_a_call_without_a_handler_has_a_class_of_the_manual(reply, change, name):
    """The manual names the classes of oslo.messaging and Python that a strict engine receives."""
    request = json.loads(json.loads(SHOWN['The body of a call'])['oslo.message'])

    body, _ = reply({**request, **change})

    message = json.loads(json.loads(body)['oslo.message'])
    assert json.loads(message['failure'])['class'] == name
    assert f'``{name}``' in outcomes()


def test_outcomes_of_the_manual_have_the_classes_of_the_worker_and_none_of_the_client():
    """The table for programs without the client lists exactly the errors that messages contain."""
    refused = {kind.__name__ for kind in errors.Refused.__subclasses__()}
    of_client = {'NoWorkerAnswered', 'BrokerUnreachable', 'BrokerRefused', 'QueueMismatch'}

    named = set(re.findall(r'``([A-Z]\w+)``', outcomes()))

    assert refused | {'RequestParked', 'ReplyTooLarge', 'WorkerFailed'} <= named
    assert not named & of_client


def test_reply_to_a_cast_has_the_bytes_and_the_destination_of_the_manual(reply):
    """A worker replies to a request in a string by a string, in the documented form."""
    action = {**GOOD['action'], 'action': 'SHRINK'}
    as_string = json.dumps({**GOOD, 'action': action, 'reply_to': TO}, default=str)
    cast = {'method': 'policy_check', 'args': {'request': as_string}, 'version': '1.0'}

    body, destination = reply({**cast, '_context_request_id': 'req-1'})

    assert without_ids(body) == without_ids(SHOWN['The body of a reply to a cast'])
    assert destination == ['engine', 'replies']


def slow(phase):
    """Return the actions whose checks of a phase go to the slow topic."""
    return {action for target, action in SLOW_CHECKS if target == phase}


def test_page_and_its_program_list_the_actions_of_the_slow_topic():
    """Table and program have the actions of each phase that the client sends to the slow topic."""
    table = PAGE.read_text().partition('Topics and timeouts\n')[2]
    shown = re.split('policy_check`` AFTER', table.partition('The slow topic needs')[0])
    program = ROOT / 'placement_worker' / 'examples' / 'engine-client' / 'pika_client.py'
    sets = {
        node.targets[0].id: ast.unparse(node.value)
        for node in ast.parse(program.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }

    for texts in (shown, (sets['SLOW_BEFORE'], sets['SLOW_AFTER'])):
        named = [set(re.findall(r'(?:CLUSTER|NODE)_\w+', text)) for text in texts]
        assert named == [slow('BEFORE'), slow('AFTER')]
