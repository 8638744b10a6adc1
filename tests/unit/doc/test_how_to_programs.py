"""The programs of the pages on tasks, in parts that need no worker."""

import importlib
import sys
from pathlib import Path

import pytest

from placement_worker.contract.model import ActionPatch, CheckReply, NodePatch

PROGRAMS = Path(__file__).parents[3] / 'placement_worker' / 'examples' / 'how-to'


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that imports a program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PROGRAMS)
    for name in ('engine', 'stored_actions'):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


@pytest.fixture
def stored_actions(program):
    """The module of stored actions, with action a1 in the state BEFORE."""
    module = program('stored_actions')
    module.add({'action': {'id': 'a1', 'data': {}}, 'cluster': {'nodes': []}})
    yield module
    module.database.close()


def reply(nodes=None, **data):
    """Return a reply to action a1."""
    return CheckReply(
        action=ActionPatch('a1', data), cluster=None, nodes=nodes or {}, decisions=[], warnings=[]
    )


def test_engine_with_a_changed_status_stores_the_status_and_its_reason(program):
    """The engine stores data, status and status_reason of a node, and keeps its other keys."""
    cluster = {'nodes': [{'id': 'n1', 'index': 1, 'status': 'ACTIVE'}]}
    patch = NodePatch({'lb_member': 'm1'}, 'WARNING', 'No member')

    program('engine').store(reply({'n1': patch}, status='ERROR'), {}, cluster)

    assert cluster['nodes'] == [
        {
            'id': 'n1',
            'index': 1,
            'status': 'WARNING',
            'status_reason': 'No member',
            'data': {'lb_member': 'm1'},
        }
    ]


def test_engine_with_an_unchanged_status_keeps_it(program):
    """A reply without a status leaves that of the node."""
    cluster = {'nodes': [{'id': 'n1', 'status': 'ACTIVE'}, {'id': 'n2', 'status': 'ERROR'}]}

    program('engine').store(reply({'n1': NodePatch({'a': 1})}, status='OK'), {}, cluster)

    assert cluster['nodes'] == [
        {'id': 'n1', 'status': 'ACTIVE', 'data': {'a': 1}},
        {'id': 'n2', 'status': 'ERROR'},
    ]


def test_stored_action_with_an_expired_check_is_asked_about_again(stored_actions):
    """A check that expired gets another id and deadline, and its action keeps its state."""
    ((_, before),) = stored_actions.open_actions()

    stored_actions.on_reply('a1-BEFORE-1', reply(status='ERROR', reason='Request expired'))

    ((state, after),) = stored_actions.open_actions()
    assert (state, stored_actions.check_id(state, after)) == ('BEFORE', 'a1-BEFORE-2')
    assert after['expires_at'] > before['expires_at']


def test_stored_action_after_five_expired_checks_fails(stored_actions, capsys):
    """The number of attempts is limited."""
    for attempt in range(1, 6):
        expired = reply(status='ERROR', reason='Request expired')
        stored_actions.on_reply(f'a1-BEFORE-{attempt}', expired)

    assert stored_actions.open_actions() == []
    assert capsys.readouterr().out.endswith('a1: BEFORE -> FAILED: Request expired\n')


def test_late_reply_to_an_earlier_attempt_changes_nothing(stored_actions):
    """The reply to the first attempt does not count after the second one has begun."""
    stored_actions.on_reply('a1-BEFORE-1', reply(status='ERROR', reason='Request expired'))
    before = stored_actions.open_actions()

    stored_actions.on_reply('a1-BEFORE-1', reply(status='OK', reason='Done'))

    assert stored_actions.open_actions() == before
