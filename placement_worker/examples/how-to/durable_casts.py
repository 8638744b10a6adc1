"""Cast the checks of files, and wait for the replies: python3 durable_casts.py URL [FILE...]."""

import json
import sqlite3
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import CheckReply, ReplyTo
from placement_worker.errors import PlacementWorkerError

REPLY_TO = ReplyTo(exchange='engine', topic='replies', method='policy_checked')
FIRST = 'UPDATE checks SET result = ? WHERE id = ? AND result IS NULL'
LATE = 'UPDATE checks SET result = ? WHERE expires_at < ? AND result IS NULL'
PENDING = 'SELECT id, request FROM checks WHERE result IS NULL'
database = sqlite3.connect('checks.sqlite', isolation_level=None, check_same_thread=False)
database.execute('CREATE TABLE IF NOT EXISTS checks (id PRIMARY KEY, expires_at, request, result)')


def on_reply(request_id: str, reply: CheckReply | PlacementWorkerError) -> None:
    """Store the first reply to a request; the broker keeps the reply until this returns."""
    if isinstance(reply, PlacementWorkerError):
        result = f'ERROR: {reply}'
    else:
        result = f'{reply.action.data["status"]}: {reply.action.data["reason"]}'
    if database.execute(FIRST, (result, request_id)).rowcount:
        print(f'{request_id}: {result}')


url, *files = sys.argv[1:]
client = PolicyClient(url)
for request in (yaml.safe_load(Path(file).read_text()) for file in files):
    request['expires_at'] = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
    check_id = f'{request["action"]["id"]}-{request["target"]}'  # an action has two checks
    row = check_id, request['expires_at'], json.dumps(request, default=str), None
    database.execute('INSERT OR IGNORE INTO checks VALUES (?, ?, ?, ?)', row)
with client.serve_replies('engine', 'replies', on_reply):
    for request_id, request in database.execute(PENDING).fetchall():
        client.cast_check(json.loads(request), REPLY_TO, {'request_id': request_id})
    while database.execute(PENDING).fetchall():
        time.sleep(0.1)
        database.execute(LATE, ('ERROR: No reply in time', datetime.now(UTC).isoformat()))
client.close()
