"""placement-policy clusters."""

import json

import pytest
import yaml

from tests.factories import node, nodes, request, zone_policy


@pytest.fixture
def log(recorded):
    """Return a decision log with three nodes of the cluster web and two of the cluster db."""
    policies = [zone_policy('a', 'b')]
    grown = request('CLUSTER_SCALE_OUT', policies, nodes(a=1, b=2), inputs={'count': 2})
    other = request('CLUSTER_UPDATE', [], [node(1, 'b', 'R1'), node(2)])
    other['cluster'] |= {'id': 'id-db', 'name': 'db', 'project': 'p2'}
    return recorded(grown, other).replace('"req-2"', 'null')


def test_clusters_shows_nodes_by_place_and_the_latest_check(run, log):
    """The table has the owner, the nodes of each place, new ones, and the id of the request."""
    status, out, err = run('clusters', '--log', 'log', log=log)

    rows = [
        [cell.strip() for cell in row.split('|')[1:-1]] for row in out.splitlines() if '|' in row
    ]
    assert (status, err) == (0, '')
    assert [row[:3] for row in rows] == [
        ['cluster', 'project', 'nodes'],
        ['db', 'p2', 'R1 b: 1'],
        ['', '', 'unknown: 1'],
        ['', '', ''],
        ['web', rows[4][1], 'a: 1'],
        ['', '', 'b: 2'],
        ['', '', 'to create in a: 2'],
    ]
    assert [row[3] for row in rows][2:4] == ['CLUSTER_UPDATE', 'no request id']
    assert [row[3] for row in rows][5:] == ['CLUSTER_SCALE_OUT', 'req-1']


@pytest.mark.parametrize(
    ('arguments', 'found'),
    [
        (['--zone', 'a'], ['web']),
        (['--zone', 'b'], ['db', 'web']),
        (['--zone', 'b', '--region', 'R1'], ['db']),
        (['--region', 'R1'], ['db']),
        (['--cluster', 'id-db'], ['db']),
        (['--cluster', 'web', '--zone', 'b'], ['web']),
    ],
)
def test_clusters_lists_only_those_that_match_all_options(arguments, found, run, log):
    """A zone, a region and a name restrict the list together."""
    _, out, _ = run('clusters', '--log', 'log', *arguments, '-f', 'jsonl', log=log)

    assert [json.loads(line)['name'] for line in out.splitlines()] == found


def test_clusters_of_a_zone_include_those_that_create_nodes_there(run, recorded):
    """An operator who empties a zone sees the clusters that are about to enter it."""
    policies = [zone_policy('a', 'b')]
    log = recorded(request('CLUSTER_SCALE_OUT', policies, nodes(b=1), inputs={'count': 1}))

    status, out, _ = run('clusters', '--log', 'log', '--zone', 'a', log=log)

    assert status == 0
    assert 'to create in a: 1' in out


def test_clusters_as_jsonl_counts_by_region_and_zone(run, log):
    """A line has the numbers that a script adds up."""
    _, out, _ = run('clusters', '--log', 'log', '--cluster', 'web', '-f', 'jsonl', log=log)

    line = json.loads(out)
    assert line['places'] == [
        {'region': None, 'zone': 'a', 'nodes': 1},
        {'region': None, 'zone': 'b', 'nodes': 2},
    ]
    assert line['to_create'] == [{'region': None, 'zone': 'a', 'nodes': 2}]
    assert (line['nodes'], line['request_id']) == (3, 'req-1')


def test_clusters_as_yaml_prints_files_for_rebalance(run, log):
    """A comment warns of missing nodes, and so does standard error: a pipe hides the comments."""
    status, out, err = run('clusters', '--log', 'log', '-f', 'yaml', log=log)
    _, _, silent = run('clusters', '--log', 'log', '--cluster', 'db', '-f', 'yaml', log=log)
    _, plans, _ = run('rebalance', '--cloud', 'cloud.yaml', 'all.yaml', **{'all.yaml': out})

    comments = [line for line in out.splitlines() if line.startswith('#')]
    assert comments[1].startswith('# web: CLUSTER_SCALE_OUT decided ')
    assert comments[1].endswith('; without 2 nodes to create')
    assert [one['cluster']['name'] for one in yaml.safe_load_all(out)] == ['db', 'web']
    assert 'Rebalance of cluster web (3 nodes): OK' in plans
    time = comments[1].partition(' decided ')[2].partition(';')[0]
    assert (status, silent) == (0, '')
    assert err == (
        'placement-policy clusters: Warning: the file of cluster web lacks the nodes to create by '
        f'CLUSTER_SCALE_OUT, decided {time} (a: 2); if they exist, the file is out of date: '
        'correct its nodes before a plan\n'
    )


def test_clusters_warns_of_victims_that_no_policy_chose(run, recorded):
    """A cluster whose engine chooses the victims has too many nodes, and the output says so."""
    policies, members = [zone_policy('a', 'b')], nodes(a=2, b=1)
    log = recorded(request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 1}))

    _, table, _ = run('clusters', '--log', 'log', log=log)
    _, line, _ = run('clusters', '--log', 'log', '-f', 'jsonl', log=log)
    status, file, err = run('clusters', '--log', 'log', '-f', 'yaml', log=log)

    assert 'to delete in a: 1' in table
    assert json.loads(line)['to_delete'] == [{'region': None, 'zone': 'a', 'nodes': 1}]
    comment = file.splitlines()[0]
    assert comment.endswith('; with 1 node to delete')
    time = comment.partition('CLUSTER_SCALE_IN decided ')[2].partition(';')[0]
    assert (status, err) == (
        0,
        'placement-policy clusters: Warning: the file of cluster web has the nodes to delete by '
        f'CLUSTER_SCALE_IN, decided {time} (a: 1), which the engine chose: remove them before a '
        'plan\n',
    )


@pytest.mark.parametrize(
    ('arguments', 'error'),
    [
        (
            ['--zone', 'az9'],
            'No such cluster has nodes in this place; the logs have nodes in R1 b, a, b, unknown',
        ),
        (['--cluster', 'wbe'], 'No check of cluster wbe in the logs; their clusters are db, web'),
    ],
)
def test_clusters_without_a_match_exits_with_1_and_names_those_of_the_logs(
    arguments, error, run, log
):
    """A misspelled name is visible beside the names that the logs have."""
    status, out, err = run('clusters', '--log', 'log', *arguments, log=log)

    assert (status, out, err) == (1, '', f'placement-policy clusters: {error}\n')
    _, _, empty = run('clusters', '--log', 'log', *arguments, log='')
    assert 'The logs have no check of a cluster; name the logs of all workers' in empty


def test_clusters_skips_an_invalid_line_and_exits_with_2(run, log):
    """The clusters of the other lines are shown."""
    status, out, err = run('clusters', '--log', 'log', '-f', 'jsonl', log='no json\n' + log)

    assert (status, len(out.splitlines())) == (2, 2)
    assert 'log, line 1: ' in err
