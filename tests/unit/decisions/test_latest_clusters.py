"""The clusters of decision logs, each one as its latest check describes it."""

import json

import pytest

from placement_worker.decisions import latest_clusters
from placement_worker.decisions.log_records import InvalidLine
from tests.factories import node, nodes, request, zone_policy
from tests.unit.decisions.conftest import shrinking


@pytest.fixture
def clusters(tmp_path):
    """Return a function that writes a log per list of lines and reads the clusters."""

    def read(*logs):
        paths = []
        for number, lines in enumerate(logs):
            path = tmp_path / f'log{number}'
            path.write_bytes(b''.join(lines))
            paths.append(str(path))
        return list(latest_clusters.read(paths))

    return read


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


def test_victims_of_the_latest_action_are_left_out(clusters, decide):
    """A zone that the latest action empties has no nodes any more."""
    line, reply = decide(shrinking(1, *nodes(a=1, b=1)))
    (victim,) = reply['action']['data']['deletion']['candidates']

    (found,) = clusters([line])

    assert [one.id for one in found.cluster.nodes] == [{'n1': 'n2', 'n2': 'n1'}[victim]]


def test_node_of_a_node_delete_is_left_out(clusters, decide):
    """The action of a single node deletes it, although no policy names a victim."""
    members = nodes(a=2)

    (found,) = clusters([decide(_of('web', members, 'NODE_DELETE', node=members[0]))[0]])

    assert [one.id for one in found.cluster.nodes] == ['n2']


def test_victims_of_a_refused_action_stay(clusters, decide):
    """A check that ends in ERROR changes no cluster."""
    line, reply = decide(shrinking(1, *nodes(a=1)))
    record = json.loads(line)
    record['reply']['action']['data'] |= {'status': 'ERROR'}
    assert reply['action']['data']['deletion']['candidates'] == ['n1']

    (found,) = clusters([json.dumps(record).encode()])

    assert [one.id for one in found.cluster.nodes] == ['n1']


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        (
            'CLUSTER_SCALE_OUT',
            {'inputs': {'count': 3}, 'policies': [zone_policy('a', 'b')]},
            {(None, 'a'): 1, (None, 'b'): 2},
        ),
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 3}}, {}),
        (
            'NODE_CREATE',
            {'node': node(9, created_at=None), 'policies': [zone_policy('b')]},
            {(None, 'b'): 1},
        ),
        ('NODE_CREATE', {'node': node(9, created_at=None)}, {(None, None): 1}),
        ('CLUSTER_SCALE_OUT', {'target': 'AFTER', 'data': {'creation': {'count': 3}}}, {}),
    ],
)
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
        {'at': 'no time'},
        {'request': {'cluster': 1}},
        {'request': {'cluster': {'id': 'c'}}},
        {'reply': {}},
    ],
)
def test_invalid_lines_are_reported_first(change, clusters, decide):
    """An invalid line has its number, and the clusters of the other lines follow."""
    line, _ = decide(_of('web', nodes(a=1)))
    invalid = json.dumps({**json.loads(line), **change}, separators=(',', ':')).encode() + b'\n'
    other, _ = decide(_of('db', nodes(a=1)))

    error, cluster = clusters([other, invalid])

    assert isinstance(error, InvalidLine)
    assert (error.number, cluster.cluster.name) == (2, 'db')
