"""The programs of the pages on tasks, in parts that need no worker."""

import importlib
from pathlib import Path

import pytest

from placement_worker.contract.model import ActionPatch, CheckReply, NodePatch

PROGRAMS = Path(__file__).parents[3] / 'placement_worker' / 'examples' / 'how-to'


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that imports a program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PROGRAMS)
    return importlib.import_module


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
