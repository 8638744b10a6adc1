"""The stored actions of actions.py: each has a state, and a request with its cluster."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

from engine import store

from placement_worker.contract.model import CheckReply

NEXT = {'BEFORE': 'ACT', 'AFTER': 'DONE'}
ATTEMPTS, EXPIRED = 5, 'Request expired'
MOVE = 'UPDATE actions SET state = ?, request = ? WHERE id = ? AND state = ?'
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


def check_id(state: str, request: Any) -> str:
    """Return the id of the check of a state; each attempt has its own."""
    return f'{request["action"]["id"]}-{state}-{request["attempt"]}'


def move(state: str, new: str, request: Any, reason: str, attempt: int = 1) -> None:
    """Store the changes and the next state at once, unless the action has left the state."""
    deadline = datetime.now(UTC) + timedelta(minutes=attempt)  # more time for each attempt
    request |= {'target': new, 'attempt': attempt, 'expires_at': deadline.isoformat()}
    row = new, json.dumps(request, default=str), request['action']['id'], state
    if database.execute(MOVE, row).rowcount:
        print(f'{request["action"]["id"]}: {state} -> {new}: {reason}', flush=True)


def ask_again(state: str, request: Any, reason: str) -> None:
    """Begin another attempt of a check without a complete decision, or fail after the last one."""
    attempt = request['attempt'] + 1
    move(state, state if attempt <= ATTEMPTS else 'FAILED', request, reason, attempt)


def on_reply(request_id: str, reply: CheckReply | Exception) -> None:
    """Store the changes of a reply; a repeated or late reply finds no check of its id."""
    for state, request in [one for one in open_actions() if check_id(*one) == request_id]:
        if isinstance(reply, Exception):
            move(state, 'FAILED', request, f'{type(reply).__name__}: {reply}')
            continue
        store(reply, request['action'], request['cluster'])
        if (data := reply.action.data)['reason'] == EXPIRED:
            ask_again(state, request, EXPIRED)
        else:
            new = NEXT[state] if data['status'] == 'OK' else 'FAILED'
            move(state, new, request, data['reason'])
