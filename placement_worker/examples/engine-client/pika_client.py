"""Call and cast a check without oslo.messaging: python3 pika_client.py amqp://... FILE."""

import contextlib
import datetime
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pika
from pika.exceptions import ChannelClosedByBroker, UnroutableError

url, file = sys.argv[1:]
SLOW_BEFORE = {
    *('CLUSTER_SCALE_IN', 'CLUSTER_RESIZE', 'CLUSTER_DEL_NODES', 'CLUSTER_REPLACE_NODES'),
    'NODE_DELETE',
}
SLOW_AFTER = {
    *('CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE', 'CLUSTER_ADD_NODES', 'CLUSTER_REPLACE_NODES'),
    *('NODE_CREATE', 'NODE_RECOVER'),
}
QUORUM = {'x-queue-type': 'quorum', 'x-delivery-limit': 100}
PROPERTIES = {
    'content_type': 'application/json',
    'content_encoding': 'utf-8',
    'delivery_mode': 2,
    'priority': 0,
}
check = json.loads(Path(file).read_text())
channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
channel.confirm_delivery()
channel.basic_qos(prefetch_count=1)


def is_slow(request: Any) -> bool:
    """Return whether a check may wait for a load balancer."""
    slow = SLOW_BEFORE if request['target'] == 'BEFORE' else SLOW_AFTER
    enabled = [policy for policy in request['policies'] if policy.get('enabled', True)]
    types = {policy['spec']['type'] for policy in enabled}
    return request['action']['action'] in slow and 'senlin.policy.loadbalance' in types


def version_of(request: Any) -> str:
    """Return the version of the contract that a check needs; 1.0 does not protect nodes."""
    may_delete = request['target'] == 'BEFORE' and request['action']['action'] in SLOW_BEFORE
    nodes = [*request['cluster']['nodes'], request['action'].get('node') or {}]
    parts = [node.get(key) or {} for node in nodes for key in ('data', 'metadata')]
    return '1.1' if may_delete and any('protected' in part for part in parts) else '1.0'


def publish(request: Any, expiration: str | None, **more: str) -> None:
    """Publish a check; the broker drops it after the expiration, in milliseconds."""
    expires_at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=TIMEOUT_S)
    args = {'request': json.dumps({**request, 'expires_at': expires_at.isoformat()})}
    call = {'method': 'policy_check', 'args': args, 'version': version_of(request), **more}
    message = json.dumps({**call, '_unique_id': uuid.uuid4().hex})
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': message})
    header = pika.BasicProperties(**PROPERTIES, expiration=expiration)
    try:
        channel.basic_publish('placement_worker', TOPIC, body, header, mandatory=True)
    except (ChannelClosedByBroker, UnroutableError) as exc:  # no exchange, or no queue
        sys.exit(f'The broker did not accept the request: {exc}')


# Checks that may wait for a load balancer have their own topic, and more time.
TOPIC, TIMEOUT_S = ('placement-worker-slow', 600) if is_slow(check) else ('placement-worker', 60)


@contextlib.contextmanager
def received(queue: str, is_expected: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield the expected message of a queue; it is acknowledged after the block has handled it."""
    for delivery, _, body in channel.consume(queue, inactivity_timeout=TIMEOUT_S):
        if delivery is None:
            sys.exit(f'No reply arrived in queue {queue} within {TIMEOUT_S} s')
        message = json.loads(json.loads(body)['oslo.message'])
        if is_last := is_expected(message):
            yield message
        channel.basic_ack(delivery.delivery_tag)
        if is_last:
            break
    channel.cancel()


# A call: the reply, or the failure, arrives in a queue named reply_...
reply_queue, call_id = f'reply_{uuid.uuid4().hex}', uuid.uuid4().hex
channel.queue_declare(reply_queue, exclusive=True)
publish(check, str(TIMEOUT_S * 1000), _msg_id=call_id, _reply_q=reply_queue)
with received(reply_queue, lambda m: m['_msg_id'] == call_id and m['ending']) as message:
    failure, reply = (json.loads(message[key] or 'null') for key in ('failure', 'result'))
    print('called:', failure['class'] if failure else reply['action']['data']['status'])

# A cast: the reply is another cast, to the exchange and topic that `reply_to` names.
request_id = f'req-{uuid.uuid4()}'
channel.exchange_declare('engine', 'topic', durable=True)
channel.queue_declare('replies', durable=True, arguments=QUORUM)
channel.queue_bind('replies', 'engine', 'replies')
reply_to = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked'}
publish({**check, 'reply_to': reply_to}, None, _context_request_id=request_id)
with received('replies', lambda m: m['args']['request_id'] == request_id) as message:
    reply = json.loads(message['args']['reply'])
    print('cast:', reply['error'] if 'error' in reply else reply['action']['data']['status'])
