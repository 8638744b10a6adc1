"""The reply to a request for a rebalance."""

from types import SimpleNamespace

import msgspec

from placement_worker.contract.model import Node
from placement_worker.handlers import rebalance_replies
from placement_worker.planning.rebalancing import Holding, Region, steps, transfers
from placement_worker.policies.deletion import DeletionProperties
from placement_worker.policies.rebalanced_places import Layout
from tests.factories import node

ZONES = [Holding('az1', 100, 2, 0, 9), Holding('az2', 100, 0, 0, 9, 'a note')]


def replied(zones, *, regions=None, possible=1):
    """Return the reply for a cluster with two nodes in az1."""
    held = sum(one.held for one in zones)
    layout = Layout(
        [Region(Holding(None, 1, held, 0, 9), zones)],
        {(None, 'az1'): [msgspec.convert(node(n, 'az1'), Node) for n in (1, 2)]},
        [],
    )
    bound = SimpleNamespace(
        regions=regions,
        zones=object(),
        deletion=DeletionProperties(grace_period=9),
        load_balancing=['lb'],
    )
    found = list(steps(layout.regions, transfers(layout.regions), 1))
    return msgspec.to_builtins(rebalance_replies.reply(layout, found, possible, bound, ['Mind']))


def test_reply_has_places_victims_and_rows():
    """A step names the new place, the victim with its reason, and the wait."""
    reply = replied(ZONES)

    (step,) = reply['steps']
    assert step['create'] == [{'zone': 'az2'}]
    assert step['delete'] == [
        {'id': 'n1', 'name': None, 'place': {'zone': 'az1'}, 'reason': 'random'}
    ]
    assert (step['grace_period'], step['load_balancing']) == (9, ['lb'])
    assert (reply['reason'], reply['warnings']) == ('1 move in 1 step', ['Mind'])
    assert [
        (row['name'], row['current'], row['ideal'], row['final'], row['note'])
        for row in reply['details']['zones']
    ] == [('az1', 2, 1.0, 1, ''), ('az2', 0, 1.0, 1, 'a note')]


def test_reply_says_how_many_moves_are_left():
    """A plan that `max_moves` has cut short counts the moves that are left."""
    assert replied(ZONES, possible=3)['reason'] == (
        '1 move in 1 step; a later rebalance finds 2 more moves'
    )


def test_reply_without_a_move_has_no_steps():
    """A balanced cluster has a reply without steps."""
    balanced = [Holding('az1', 100, 1, 0, 9), Holding('az2', 100, 1, 0, 9)]

    reply = replied(balanced, possible=0)

    assert (reply['reason'], reply['steps']) == (rebalance_replies.BALANCED, [])
    assert reply['imbalance'] == {'misplaced': 0, 'regions': None, 'zones': 0.0}
