"""Call and cast a check without oslo.messaging: python3 pika_client.py amqp://... FILE."""

import datetime
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import pika

url, file = sys.argv[1:]
TIMEOUT_S = 60
QUORUM = {'x-queue-type': 'quorum', 'x-delivery-limit': 100}
JSON = pika.BasicProperties(
    content_type='application/json', content_encoding='utf-8', delivery_mode=2
)
channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
channel.confirm_delivery()
channel.basic_qos(prefetch_count=1)


def publish(request: Any, **more: str) -> None:
    """Publish a check; pika raises UnroutableError if no worker has ever run."""
    expires_at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=TIMEOUT_S)
    args = {'request': {**request, 'expires_at': expires_at.isoformat()}}
    call = {'method': 'policy_check', 'args': args, 'version': '1.0', **more}
    message = json.dumps({**call, '_unique_id': uuid.uuid4().hex})
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': message})
    channel.basic_publish('placement_worker', 'placement-worker', body, JSON, mandatory=True)


def receive(queue: str) -> Any:
    """Return the next message of a queue."""
    delivery, _, body = next(channel.consume(queue, inactivity_timeout=TIMEOUT_S))
    if delivery is None:
        raise TimeoutError(f'no reply in queue {queue}')
    channel.basic_ack(delivery.delivery_tag)
    channel.cancel()
    return json.loads(json.loads(body)['oslo.message'])


check = json.loads(Path(file).read_text())

# A call: the reply, or the failure, arrives in a queue named reply_...
reply_queue, call_id = f'reply_{uuid.uuid4().hex}', uuid.uuid4().hex
channel.queue_declare(reply_queue, exclusive=True)
publish(check, _msg_id=call_id, _reply_q=reply_queue)
while (reply := receive(reply_queue))['_msg_id'] != call_id or not reply['ending']:
    pass
print('called:', reply['failure'] or reply['result']['action']['data']['status'])

# A cast: the reply is another cast, to the exchange and topic that `reply_to` names.
channel.exchange_declare('engine', 'topic', durable=True)
channel.queue_declare('replies', durable=True, arguments=QUORUM)
channel.queue_bind('replies', 'engine', 'replies')
reply_to = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked'}
publish({**check, 'reply_to': reply_to}, _context_request_id='req-1')
arguments = receive('replies')['args']
reply = arguments['reply']
print('cast:', arguments['request_id'], reply.get('error') or reply['action']['data']['status'])
