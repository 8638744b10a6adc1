"""The clusters of decision logs, each one as its latest check describes it."""

import json

import pytest

from placement_worker.decisions import cluster_history
from placement_worker.decisions.records import InvalidLine
from tests.factories import deletion_policy, node, nodes, request, zone_policy
from tests.unit.decisions.conftest import shrinking


@pytest.fixture
def clusters(written):
    return lambda *logs: list(cluster_history.latest_clusters(written(*logs)))


@pytest.fixture
def read(written):
    return lambda name, *logs: cluster_history.decisions_about(written(*logs), name)


def _of(name, members, action='CLUSTER_UPDATE', **more):
    asked = request(action, more.pop('policies', []), members, **more)
    return {**asked, 'cluster': {**asked['cluster'], 'id': f'id-{name}', 'name': name}}


def _at(line, hour):
    return json.dumps({**json.loads(line), 'at': f'2026-01-01T{hour:02}:00:00Z'}).encode() + b'\n'


def test_clusters_of_two_logs_are_read_from_the_latest_checks(clusters, decide):
    """The time of a check counts, whatever the order of the logs is; clusters have their order."""
    early = _at(decide(_of('web', nodes(a=1)))[0], 1)
    late = _at(decide(_of('web', nodes(a=2, b=1)))[0], 2)
    other = _at(decide(_of('db', nodes(b=1)))[0], 1)

    found = clusters([late, other], [early])

    assert [(one.cluster.name, dict(one.places)) for one in found] == [
        ('db', {(None, 'b'): 1}),
        ('web', {(None, 'a'): 2, (None, 'b'): 1}),
    ]


@pytest.mark.parametrize(
    ('action', 'more', 'status', 'left'),
    [
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 1}, 'policies': [deletion_policy()]}, 'OK', 1),
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 1}, 'policies': [deletion_policy()]}, 'ERROR', 2),
        ('NODE_DELETE', {'node': node(1)}, 'OK', 1),
    ],
)
def test_victims_of_the_latest_action_are_left_out(action, more, status, left, clusters, decide):
    """The nodes that the latest action deletes have left, unless its check ended in ERROR."""
    record = json.loads(decide(_of('web', nodes(a=2), action, **more))[0])
    record['reply']['action']['data'] |= {'status': status}

    (found,) = clusters([json.dumps(record).encode()])

    assert [one.id for one in found.cluster.nodes] == ['n1', 'n2'][-left:]


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}, 'policies': [zone_policy('a', 'b')]},
         {(None, 'a'): 1, (None, 'b'): 2}),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}}, {}),
        ('NODE_CREATE', {'node': node(9, created_at=None), 'policies': [zone_policy('b')]},
         {(None, 'b'): 1}),
        ('NODE_CREATE', {'node': node(9, created_at=None)}, {(None, None): 1}),
        ('CLUSTER_SCALE_OUT', {'target': 'AFTER', 'data': {'creation': {'count': 3}}}, {}),
    ],
)  # fmt: skip
def test_nodes_to_create_are_counted_before_the_action(action, more, expected, clusters, decide):
    """New nodes are in the plan before the action, and part of the cluster after it."""
    (found,) = clusters([decide(_of('web', nodes(a=1), action, **more))[0]])

    assert found.new_places == expected


def test_dry_run_does_not_count(clusters, decide):
    """A dry run of an operator may describe nodes that do not exist."""
    line, _ = decide(_of('web', nodes(a=1)))
    tried, _ = decide({**_of('web', nodes(a=5)), 'dry_run': True})

    (found,) = clusters([line, tried])

    assert len(found.cluster.nodes) == 1


def test_deleted_cluster_is_left_out(clusters, decide):
    """The check of its deletion is the end of a cluster."""
    lines = [decide(_of('web', nodes(a=1), action))[0] for action in ('NODE_CHECK', 'NODE_CHECK')]
    gone, _ = decide(_of('web', nodes(a=1), 'CLUSTER_DELETE'))

    assert len(clusters(lines)) == 1
    assert clusters([*lines, gone]) == []


def test_other_methods_do_not_count(clusters, decide):
    """An action in an attachment's data may have the name of the method of checks."""
    line, _ = decide(_of('web', nodes(a=1)))
    changed = json.dumps({**json.loads(line), 'method': 'policy_rebalance'}).encode() + b'\n'

    assert clusters([changed.replace(b'"CLUSTER_UPDATE"', b'"policy_check"')]) == []


@pytest.mark.parametrize(
    'change',
    [
        {'at': 'no time'}, {'reply': {}}, {'request': {'cluster': 1}},
        {'request': {'cluster': {'id': 'c'}}},
    ],
)  # fmt: skip
def test_invalid_lines_are_reported_first(change, clusters, decide):
    """An invalid line has its number, and the clusters of the other lines follow."""
    line, _ = decide(_of('web', nodes(a=1)))
    invalid = json.dumps({**json.loads(line), **change}, separators=(',', ':')).encode() + b'\n'
    other, _ = decide(_of('db', nodes(a=1)))

    error, cluster = clusters([other, invalid])

    assert isinstance(error, InvalidLine)
    assert (error.number, cluster.cluster.name) == (2, 'db')


def test_read_of_an_action_returns_its_checks_of_all_logs_in_the_order_of_time(decide, read):
    """The checks before and after an action may be in the logs of different workers."""
    before, _ = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs={'count': 1}))
    data = {'creation': {'count': 1, 'nodes': ['n1']}}
    after, _ = decide(request('CLUSTER_SCALE_OUT', [], nodes(a=1), target='AFTER', data=data))

    checks = read('act-1', [after], [before]).of_action

    shown = [(one.summary.target, one.summary.nodes) for one in checks]
    assert shown == [('BEFORE', []), ('AFTER', ['n1'])]
    assert checks[0].reply.decisions[0].details['zones'][0]['name'] == 'a'


@pytest.mark.parametrize(
    ('change', 'created', 'deleted'),
    [
        ({}, {}, {'a': 1}),
        ({'policies': [zone_policy('nowhere')]}, {}, {}),
        ({'action': {'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 2}}}, {'a': 2}, {}),
    ],
)
def test_summary_of_a_check_has_the_places_of_nodes_to_create_and_delete(
    decide, read, change, created, deleted
):
    """The list of a cluster shows where its actions went; a failed check goes nowhere."""
    asked = request('CLUSTER_SCALE_IN', [zone_policy('a')], nodes(a=2), inputs={'count': 1})
    action = {**asked['action'], **change.get('action', {})}
    line, _ = decide({**asked, **change, 'action': action})

    (one,) = read('web', [line]).of_cluster

    assert (one.to_create, one.to_delete) == (created, deleted)


def test_summary_of_a_check_has_the_nodes_that_its_action_deletes_or_acts_on(decide, read):
    """An operator gets the names to ask for."""
    lines = [
        decide(shrinking(1, *nodes(a=2)))[0],
        decide(request('NODE_CREATE', [zone_policy('a')], node=node(9)))[0],
    ]

    assert [one.nodes for one in read('web', lines).of_cluster] == [['n1'], ['n9']]
    assert read('act-', lines) == ([], [])
