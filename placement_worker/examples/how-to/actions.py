"""Scale by casts, and survive crashes: python3 actions.py URL [ACTION_ID ACTION COUNT]."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import stored_actions
import yaml
from engine import TRUST, act

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import ReplyTo

REPLY_TO = ReplyTo(exchange='engine', topic='replies.actions', method='policy_checked')


def step(client: PolicyClient, state: str, request: Any, cast: set[str]) -> None:
    """Act, ask again, or cast the check of this state unless this process has cast it."""
    request_id = stored_actions.check_id(state, request)
    if state == 'ACT':
        act(request['action'], request['cluster'])
        stored_actions.move('ACT', 'AFTER', request, 'The plan is carried out')
    elif datetime.fromisoformat(request['expires_at']) < datetime.now(UTC):
        stored_actions.ask_again(state, request, 'No reply in time')
    elif request_id not in cast:
        client.cast_check(request, REPLY_TO, {'request_id': request_id})
        cast.add(request_id)


if __name__ == '__main__':
    url, *new = sys.argv[1:]
    if new:
        request = yaml.safe_load(Path('examples/how-to/cluster.yaml').read_text())
        request['action'] = {'id': new[0], 'action': new[1], 'inputs': {'count': int(new[2])}}
        stored_actions.add(request | {'credentials': TRUST})
    client, cast = PolicyClient(url), set[str]()
    with client.serve_replies(REPLY_TO.exchange, REPLY_TO.topic, stored_actions.on_reply):
        while open_actions := stored_actions.open_actions():
            for state, request in open_actions:
                step(client, state, request, cast)
            time.sleep(0.1)
    client.close()
