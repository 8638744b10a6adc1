"""The stored actions of actions.py: each has a state, and a request with its cluster."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

from engine import store

from placement_worker.contract.model import CheckReply

NEXT = {'BEFORE': 'ACT', 'AFTER': 'DONE'}
MOVE = 'UPDATE actions SET state = ?, request = ? WHERE id = ? AND state = ?'
FIND = 'SELECT request FROM actions WHERE id = ? AND state = ?'
OPEN = "SELECT state, request FROM actions WHERE state IN ('BEFORE', 'ACT', 'AFTER')"
database = sqlite3.connect('actions.sqlite', isolation_level=None, check_same_thread=False)
database.execute('CREATE TABLE IF NOT EXISTS actions (id PRIMARY KEY, state, request)')


def add(request: Any) -> None:
    """Store an action before its first check; an action that is stored already stays."""
    database.execute(
        "INSERT OR IGNORE INTO actions VALUES (?, 'NEW', '')", [request['action']['id']]
    )
    move('NEW', 'BEFORE', request, 'The action is stored')


def open_actions() -> list[tuple[str, Any]]:
    """Return state and request of each action that has not ended."""
    return [(state, json.loads(text)) for state, text in database.execute(OPEN).fetchall()]


def move(state: str, new: str, request: Any, reason: str) -> None:
    """Store the changes and the next state at once, unless the action has left the state."""
    deadline = datetime.now(UTC) + timedelta(minutes=1)  # a deadline for each check
    request |= {'target': new, 'expires_at': deadline.isoformat()}
    row = new, json.dumps(request, default=str), request['action']['id'], state
    if database.execute(MOVE, row).rowcount:
        print(f'{request["action"]["id"]}: {state} -> {new}: {reason}', flush=True)


def on_reply(request_id: str, reply: CheckReply | Exception) -> None:
    """Store the changes of a reply; a repeated or late reply finds no action in its state."""
    action_id, _, phase = request_id.rpartition('-')
    for (text,) in database.execute(FIND, (action_id, phase)).fetchall():
        request = json.loads(text)
        if isinstance(reply, Exception):
            move(phase, 'FAILED', request, f'{type(reply).__name__}: {reply}')
            continue
        store(reply, request['action'], request['cluster'])
        data = request['action']['data']
        move(phase, NEXT[phase] if data['status'] == 'OK' else 'FAILED', request, data['reason'])
