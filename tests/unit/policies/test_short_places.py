"""Creations while places are short of capacity, through the chain."""

import pytest

from placement_worker.planning.places import Place
from placement_worker.planning.shortage import Shortage
from placement_worker.policies import shared_placement
from tests.factories import (
    NOW,
    node,
    nodes,
    redistributing,
    refused,
    request,
    spreading,
    zone_policy,
)
from tests.unit.policies.shortages import UNTIL, created, decide, rows, scale_out

ZONES = spreading(redistributing(zone_policy('a', 'b', 'c')), max_skew=9)


def test_place_that_refused_a_node_gets_none_until_the_delay_has_passed():
    """The others take its share; its row says until when, and its failed node is not counted."""
    members = [*nodes(a=1, b=1, c=1), refused(4, 'a')]

    reply = decide(scale_out(4, ZONES, members=members))

    assert created(reply) == {'b': 2, 'c': 2}
    row = rows(reply)['a']
    assert (row['current'], row['final'], row['note']) == (1, 1, UNTIL)
    assert reply['warnings'] == [f'Zone a is {UNTIL} (1 failed attempt)']


def test_place_gets_one_node_as_a_probe_after_the_delay():
    """After the delay one node is created there, however many it is short of."""
    members = [*nodes(b=3, c=3), refused(7, 'a', minutes=5), refused(8, 'a', minutes=5)]

    reply = decide(scale_out(3, ZONES, members=members))

    assert created(reply) == {'a': 1, 'b': 1, 'c': 1}
    assert rows(reply)['a']['note'] == 'short of capacity: one probe'
    assert reply['warnings'] == ['Zone a is short of capacity: one probe (1 failed attempt)']


def test_place_is_filled_after_a_successful_probe():
    """A node that was created after the delay ends the shortage, though failed nodes remain."""
    probe = node(9, 'a', created_at='2026-01-01T11:50:00Z')
    members = [*nodes(b=3, c=3), refused(7, 'a', minutes=30), probe]

    reply = decide(scale_out(2, ZONES, members=members))

    assert (created(reply), reply['warnings']) == ({'a': 2}, [])


@pytest.mark.parametrize(
    'more',
    [
        {'status': 'WARNING'},
        {'created_at': '2026-01-01T00:00:00Z'},
        {'status_reason': 'Quota exceeded for instances'},
        {'status_reason': None},
        {'data': {}},
    ],
    ids=['not in error', 'created', 'quota', 'no reason', 'no placement'],
)
def test_other_nodes_do_not_prove_a_shortage(more):
    """A node proves a shortage if it was never created, in the place of a plan, for its reason."""
    members = [*nodes(b=2, c=2), refused(5, 'a', **more)]

    reply = decide(scale_out(2, ZONES, members=members))

    assert 'a' in created(reply)
    assert reply['warnings'] == []


@pytest.mark.parametrize(
    'policy',
    [zone_policy('a', 'b', 'c'), redistributing(zone_policy('a', 'b', 'c'), mode='ignore')],
    ids=['version 1.0', 'ignore'],
)
def test_shortage_has_no_effect_in_other_modes(policy):
    """Version 1.0, and the mode `ignore`, place nodes as before and count failed nodes."""
    members = [*nodes(b=2, c=2), refused(5, 'a')]

    reply = decide(scale_out(2, policy, members=members))

    assert created(reply) == {'a': 2}
    assert rows(reply)['a']['current'] == 1


def test_deletion_is_planned_without_shortages():
    """A deletion counts failed nodes, which leave first, and mentions no shortage."""
    members = [*nodes(a=1, b=1, c=1), refused(4, 'a')]

    reply = decide(request('CLUSTER_SCALE_IN', [ZONES], members, inputs={'count': 1}))

    assert reply['action']['data']['deletion']['zones'] == {'a': 1}
    assert (rows(reply)['a']['note'], reply['warnings']) == ('', [])


def test_all_places_short_of_capacity_fail_the_action_with_the_next_probe():
    """The reason has each delay, and the time at which a probe is possible."""
    members = [refused(1, 'a'), refused(2, 'b', minutes=8), refused(3, 'b', minutes=2)]
    policy = redistributing(zone_policy('a', 'b'))

    reply = decide(scale_out(1, policy, members=members))

    assert reply['action']['data']['status'] == 'ERROR'
    assert reply['action']['data']['reason'] == (
        f'No node can be created: a ({UNTIL}), '
        'b (short of capacity until 2026-01-01T12:08:00Z); the latest failure was '
        '"No valid host was found. There are not enough hosts available."; '
        'the next probe is possible at 2026-01-01T12:04:00Z'
    )


def test_unknown_time_of_a_failure_allows_a_probe_with_a_warning():
    """A clock that is wrong delays no node; the operator learns of it."""
    members = [*nodes(b=3, c=3), refused(7, 'a', minutes=-(10**6))]

    reply = decide(scale_out(3, ZONES, members=members))

    assert created(reply)['a'] == 1
    assert reply['warnings'] == [
        'Zone a is short of capacity: one probe '
        '(failed at an unknown time or in the future; check the clock of the engine)'
    ]


def test_new_node_of_an_action_counts_as_evidence():
    """An engine that creates a failed node again gets another place for it."""
    new = refused(4, 'a')
    members = [*nodes(b=1, c=1), new]

    reply = decide(request('NODE_CREATE', [ZONES], members, node=new))

    assert created(reply) == {'b': 1}


def test_strict_spread_names_a_zone_short_of_capacity():
    """A place short of capacity keeps its share of the ideal, so strict spread refuses."""
    policy = spreading(ZONES, mode='strict')
    members = [*nodes(b=1, c=1), refused(3, 'a')]

    reply = decide(scale_out(4, policy, members=members))

    assert reply['action']['data']['reason'] == (
        f'Zone a would hold 0 nodes, ideal 2.0, allowed skew 1: zone a is {UNTIL}'
    )


def test_reply_lists_the_places_to_try_next():
    """Each planned zone has the others in the order of preference, without those in shortage."""
    members = [*nodes(a=2, b=1), refused(9, 'c')]

    reply = decide(scale_out(3, ZONES, members=members))

    assert created(reply) == {'a': 1, 'b': 2}
    assert created(reply, 'alternatives') == [
        {'place': {'zone': 'a'}, 'retry': [{'zone': 'b'}]},
        {'place': {'zone': 'b'}, 'retry': [{'zone': 'a'}]},
    ]


@pytest.mark.parametrize(
    'policy',
    [
        zone_policy('a', 'b'),
        redistributing(zone_policy('a', 'b'), mode='ignore'),
        spreading(zone_policy('a', 'b'), mode='strict'),
    ],
    ids=['version 1.0', 'ignore', 'strict spread'],
)
def test_reply_without_redistribution_has_no_alternatives(policy):
    """Version 1.0, `ignore` and strict spread leave an engine no choice."""
    reply = decide(scale_out(1, policy, members=[]))

    assert 'alternatives' not in reply['action']['data']['creation']


def test_warning_of_a_place_escapes_and_shortens_its_name():
    """The name of a place cannot control a terminal, nor fill a log."""
    place = Place('\x1b[31m' + 'a' * 99, shortage=Shortage(1, NOW, 1))

    (warning,) = shared_placement.short_of_capacity([place], 'zone')

    assert warning.startswith('Zone \\u001b[31maaa')
    assert len(warning) < 160
