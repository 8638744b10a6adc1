"""The history of a node in decision logs."""

import gzip
import json

import pytest

from placement_worker.decisions import node_history
from placement_worker.decisions.log_records import InvalidLine
from tests.factories import (
    NOW,
    deletion_policy,
    node,
    nodes,
    redistributing,
    refused,
    request,
    zone_policy,
)
from tests.unit.decisions.conftest import shrinking


def test_created_node_has_the_plan_of_its_action(decide, history):
    """The plan of a scale-out is found by its action, although it does not name the node."""
    policies = [zone_policy('a', 'b')]
    planned, _ = decide(request('CLUSTER_SCALE_OUT', policies, nodes(a=2), inputs={'count': 1}))
    data = {'creation': {'count': 1, 'nodes': ['n3']}}
    members = [*nodes(a=2), node(3, 'b')]
    created, _ = decide(request('CLUSTER_SCALE_OUT', policies, members, target='AFTER', data=data))

    (event,) = history('n3', [created], [planned])

    assert (event.event, event.text, event.action_id) == ('placed', 'in zone b', 'act-1')
    assert [(row['name'], row['current'], row['final']) for row in event.places] == [
        ('a', 2, 2),
        ('b', 0, 1),
    ]


def test_created_node_has_no_plan_of_a_dry_run(decide, history):
    """A dry run with the id of the action is no second plan of the node."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], nodes(a=2), inputs={'count': 1})
    tried, planned = decide({**asked, 'dry_run': True})[0], decide(asked)[0]
    data = {'creation': {'count': 1, 'nodes': ['n3']}}
    members = [*nodes(a=2), node(3, 'b')]
    created, _ = decide(request('CLUSTER_SCALE_OUT', [], members, target='AFTER', data=data))

    assert [event.event for event in history('n3', [tried, planned, created])] == ['placed']


def test_single_created_node_has_its_own_plan(decide, history):
    """The check of a NODE_CREATE names the place of its node."""
    new = node(1, created_at=None)
    line, _ = decide(request('NODE_CREATE', [zone_policy('a', 'b')], node=new))

    (event,) = history('n1', [line])

    assert (event.event, event.text) == ('placed', 'in zone a')


def test_dry_run_is_no_event(decide, history):
    """A dry run changes nothing, so it has no part in the history."""
    line, _ = decide(shrinking(1, *nodes(a=2), dry_run=True))

    assert history('n1', [line]) == []


def test_node_is_found_by_its_name(decide, history):
    """A name works like an id."""
    line, _ = decide(shrinking(1, node(1, 'a', name='web-1'), node(2, 'a', name='web-2')))

    assert [event.node for event in history('web-2', [line])] == ['n2']


def test_compressed_and_invalid_logs_are_read(decide, tmp_path, registry):
    """Malformed lines are reported before the events of all other lines."""
    line, _ = decide(shrinking(1, *nodes(a=2)))
    (tmp_path / 'log.gz').write_bytes(gzip.compress(b'"n1"\n{"no": "n2"}\n' + line))

    invalid, event = node_history.read([str(tmp_path / 'log.gz')], 'n1', registry)

    assert isinstance(invalid, InvalidLine)
    assert (invalid.number, event.event) == (1, 'chosen')


def test_record_of_a_request_that_is_refused_now_is_an_invalid_line(decide, history):
    """A record that does not fit the present contract does not hide the other records."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    invalid, event = history('n1', [line.replace(b'"target":"BEFORE"', b'"target":"DURING"'), line])

    assert isinstance(invalid, InvalidLine)
    assert (invalid.number, event.event) == (1, 'chosen')
    assert '$.target' in invalid.error


def test_lines_without_the_node_are_not_decoded(decide, history):
    """A large log costs little, because only lines with the node's name are decoded."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    assert history('n7', [b'{}\n', line]) == []


def test_two_created_nodes_of_the_same_name_have_an_event_each(decide, history):
    """No node hides another node that the same action has created under the same name."""
    policies = [zone_policy('a', 'b')]
    planned, _ = decide(request('CLUSTER_SCALE_OUT', policies, [], inputs={'count': 2}))
    data = {'creation': {'count': 2, 'nodes': ['n1', 'n2']}}
    members = [node(1, 'a', name='web'), node(2, 'b', name='web')]
    created, _ = decide(request('CLUSTER_SCALE_OUT', policies, members, target='AFTER', data=data))

    found = history('web', [planned, created])

    assert [(event.node, event.text) for event in found] == [
        ('n1', 'in zone a'),
        ('n2', 'in zone b'),
    ]


@pytest.mark.parametrize(
    ('change', 'error'),
    [
        (lambda reply: reply.pop('decisions'), 'missing required field `decisions` - at `$.reply`'),
        (lambda reply: reply.pop('nodes'), 'missing required field `nodes` - at `$.reply`'),
        (lambda reply: reply['action'].pop('data'), 'field `data` - at `$.reply.action`'),
        (lambda reply: reply['action']['data'].update(deletion=[]), 'Expected `object`'),
        (lambda reply: reply['decisions'][0].pop('details'), 'field `details` - at `$.reply'),
    ],
)
def test_record_with_an_edited_reply_is_an_invalid_line(decide, history, change, error):
    """A record that no worker writes is reported with its line, and the others are read."""
    line, _ = decide(shrinking(1, *nodes(a=2)))
    edited = json.loads(line)
    change(edited['reply'])

    invalid, event = history('n1', [json.dumps(edited).encode() + b'\n', line])

    assert isinstance(invalid, InvalidLine)
    assert invalid.number == 1
    assert error in invalid.error
    assert event.event == 'chosen'


def test_rebalance_is_no_event_of_its_nodes(decide, history):
    """A plan alone does nothing to a node; the checks of its steps are events."""
    cluster = request('', [], nodes(a=2))['cluster']
    line, reply = decide(
        {'cluster': cluster, 'policies': [zone_policy('a', 'b')]}, method='policy_rebalance'
    )

    assert len(reply['steps']) == 1
    assert history('n1', [line]) == []


@pytest.mark.parametrize(('attempts', 'words'), [(1, '1 failed attempt'), (2, '2 failed attempts')])
def test_deleted_node_has_the_record_of_its_failure(decide, history, attempts, words):
    """A node that found no room is listed with the record that replaces it; others are not."""
    policies = [redistributing(zone_policy('a', 'b')), deletion_policy()]
    members = [*nodes(a=1), refused(4, 'a'), refused(5, 'b'), refused(6, 'b')]
    failures = [{'zone': 'a', 'at': '2026-01-01T11:50:00Z', 'attempts': 1}][: attempts - 1]
    asked = request('CLUSTER_DEL_NODES', policies, members, inputs={'candidates': ['n1', 'n4']})
    asked['cluster']['data'] = {'placement_failures': failures}
    line, _ = decide(asked, now=lambda: NOW)

    assert [event.event for name in ('n1', 'n5') for event in history(name, [line])] == [
        'chosen',
        'spared',
    ]
    chosen, recorded = history('n4', [line])
    assert (chosen.event, recorded.event) == ('chosen', 'recorded')
    assert recorded.text == f'{words} in zone a, the latest at 2026-01-01T11:59:00Z'
