"""Cast the checks of YAML files and print the replies: python3 casts.py URL FILE..."""

import sys
import threading
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import CheckReply, ReplyTo
from placement_worker.errors import PlacementWorkerError

url, *files = sys.argv[1:]
pending = {f'req-{uuid.uuid4()}': file for file in files}
is_done = threading.Event()


def on_reply(request_id: str, reply: CheckReply | PlacementWorkerError) -> None:
    """Print a reply once."""
    file = pending.get(request_id)
    if file is None:
        return  # an earlier delivery of this reply was handled
    if isinstance(reply, PlacementWorkerError):
        print(f'{file}: {type(reply).__name__}: {reply}')
    else:
        print(f'{file}: {reply.action.data["status"]}: {reply.action.data["reason"]}')
    del pending[request_id]  # at the end: after an exception the reply comes again
    if not pending:
        is_done.set()


client = PolicyClient(url)
with client.serve_replies('engine', 'replies', on_reply):
    for request_id, file in list(pending.items()):
        request = yaml.safe_load(Path(file).read_text())
        request['expires_at'] = datetime.now(UTC) + timedelta(seconds=60)
        reply_to = ReplyTo(exchange='engine', topic='replies', method='policy_checked')
        client.cast_check(request, reply_to, {'request_id': request_id})
    is_done.wait(60)
client.close()
