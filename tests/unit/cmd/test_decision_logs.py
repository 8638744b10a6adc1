"""The commands that read decision logs: `replay`, `why` and `clusters`."""

import contextlib
import gzip
import json
import textwrap
from importlib import metadata
from pathlib import Path
from unittest.mock import MagicMock

import msgspec
import pytest
import yaml

from placement_worker.cmd import base
from tests import hostile_requests
from tests.factories import bind, deletion_policy, node, nodes, request, zone_policy

ROOT = Path(__file__).parents[3]
VERSION = metadata.version('placement-worker')
ZONES = zone_policy('a', 'b')
OUT = 'CLUSTER_SCALE_OUT'
ONE = {'count': 1}


def cells(table):
    """Return the rows of a table, each as the texts of its cells."""
    rows = (row.split('|')[1:-1] for row in table.splitlines() if '|' in row)
    return [[cell.strip() for cell in row] for row in rows]


@pytest.fixture
def growth(recorded):
    """Return the line of a decision about a growth, whose reply has `"a":2`."""
    return recorded(request(OUT, [ZONES], inputs={'count': 3}))


@pytest.fixture
def shrinkage(recorded):
    """Return the line of a decision to delete the node n1."""
    return recorded(SHRINKAGE)


DIFFERENT = ('"a":2', '"a":9')
DIFFERENCE = '  $.action.data.creation.zones.a\n    - 9\n    + 2\n'
NO_JSON = 'placement-policy replay: log, line {}: Expected JSON - at `$`: '
MORE = 'placement-policy replay: Skipped {}; check that the file is a decision log\n'


@pytest.mark.parametrize(
    ('damage', 'status', 'shown', 'messages', 'last'),
    [
        (lambda line: line * 2, 0, f'2 decisions replayed with {VERSION}: all the same\n', 0, ''),
        (lambda line: gzip.compress(line.encode()), 0, '1 decision replayed with ', 0, ''),
        (lambda line: line + line.replace(*DIFFERENT), 1, f'log, line 2: {OUT}, request req-1, ',
         0, ''),
        (lambda line: line.replace(*DIFFERENT), 1, DIFFERENCE, 0, ''),
        (lambda line: line.replace(*DIFFERENT), 1, ': 1 different reply\n', 0, ''),
        (lambda line: line.replace('3 nodes go to 2 zones', 'x' * 1000), 1,
         '    - "' + 'x' * 99 + '...\n', 0, ''),
        (lambda line: line[:100] + '\n' + line.replace(*DIFFERENT) + line, 2,
         '2 decisions replayed', 1, NO_JSON.format(1)),
        (lambda _: 'hello\n' * 5, 2, ': nothing to compare\n', 5, NO_JSON.format(5)),
        (lambda _: 'hello\n' * 6, 2, ': nothing to compare\n', 6, MORE.format('1 more line')),
        (lambda _: 'hello\n' * 9, 2, ': nothing to compare\n', 6, MORE.format('4 more lines')),
    ],
)  # fmt: skip
def test_replay_of_a_log_shows_differences_and_skips_invalid_lines(
    program, growth, damage, status, shown, messages, last
):
    """Equal decisions are counted; a file without any valid line makes no claim of equality."""
    code, out, err = program('replay', 'log', log=damage(growth))

    lines = err.splitlines(keepends=True)
    assert (code, len(lines), shown in out) == (status, messages, True)
    assert err == '' or lines[-1].startswith(last)
    assert 'Expected JSON' not in err or '; skipped the line\n' in lines[0]


SHRINKAGE = request(
    'CLUSTER_SCALE_IN', [ZONES, deletion_policy('OLDEST_FIRST')], nodes(a=2, b=1), inputs=ONE
)
NOT_FOUND = (
    '; name the logs of all workers with their rotated files; a request that was refused, failed, '
    'was parked or reached no worker has no decision: look for its cluster in the log of each '
    'worker (journalctl --unit placement-worker) and in "placement-policy parked list"\n'
)
BROKEN = 'log, line 2: Expected JSON - at `$`: '


@pytest.mark.parametrize(
    ('typed', 'damage', 'status', 'shown', 'message'),
    [
        ('replay --request CLUSTER_SCALE_IN log', '', 1, '',
         f'No request CLUSTER_SCALE_IN in the logs{NOT_FOUND}'),
        ('replay --request req-1 log', '{"req-1"', 2, 'dry_run: true\n', BROKEN),
        ('why n9 --log log', '', 1, '', 'No decision about a node, an action or a cluster n9 in '
         f'the logs{NOT_FOUND}'),
        ('why n3 --log log', '', 0, 'node n3 spared: ', ''),
        ('why n1 --log log', 'garbage', 2, 'chosen: rank 1', BROKEN),
        ('why n1 --log log', '{"at": "n1', 2, 'chosen: rank 1', BROKEN),
        ('why n9 --log log', '{"at": ', 2, '', BROKEN),
        ('why n2 --log log -f jsonl', '', 0, '"event": "spared", "node": "n2", "action": "CLUST',
         ''),
        ('clusters --log log', 'no json', 2, '| web ', BROKEN),
        ('clusters --log log -f jsonl', '', 0, '"places": [{"region": null, "zone": "a", "nodes": '
         '1}, {"region": null, "zone": "b", "nodes": 1}], "to_create": []', ''),
        ('clusters --log log --zone az9', '', 1, '', 'No such cluster has nodes in this place; the '
         'logs have nodes in a, b\n'),
        ('clusters --log log', None, 1, '', 'The logs have no check of a cluster; name the logs of '
         'all workers\n'),
        ('clusters --log log --cluster wbe', '', 1, '', 'No check of cluster wbe in the logs; '
         'their clusters are web\n'),
    ],
)  # fmt: skip
def test_command_on_a_log_finds_what_is_named_or_says_what_the_logs_have(
    run, recorded, typed, damage, status, shown, message
):
    """A damaged line may have lost the name, so it is reported with what the others have."""
    log = '' if damage is None else recorded(SHRINKAGE)

    code, out, err = run(*typed.split(), log=f'{log}{damage}\n' if damage else log)

    name = typed.partition(' ')[0]
    assert (code, shown in out, bool(out)) == (status, True, bool(shown))
    assert err.startswith(f'placement-policy {name}: {message}' if message else '')
    assert (err.count('\n'), bool(err)) == (1 if message else 0, bool(message))


def test_replay_shows_how_much_of_a_log_it_has_read(program, monkeypatch):
    """A person who waits for a long log sees the share that has been read."""
    progress, shares = MagicMock(), []
    monkeypatch.setattr(base, 'Progress', progress)
    progress.return_value.hidden.side_effect = lambda: (
        shares.append(progress.return_value.detail()) or contextlib.nullcontext()
    )

    program('replay', 'log', log='{}\n{}\n')  # an error for each line

    assert [share[-5:] for share in shares] == ['g 50%', '', '']


def test_why_of_a_check_without_its_outcome_names_the_line(run, recorded):
    """The other checks of the action are shown."""
    first, second = recorded(SHRINKAGE, SHRINKAGE).splitlines()
    edited = json.loads(first)
    del edited['reply']['action']['data']['status']

    status, out, err = run('why', 'act-1', '--log', 'log', log=f'{json.dumps(edited)}\n{second}\n')

    assert (status, out.count('BEFORE: OK')) == (2, 1)
    assert 'log, line 1: Object missing required field `status` - at `$.reply.action.data`' in err


def test_replay_of_a_record_with_packages_names_them_with_their_versions(program, growth):
    """A difference may come from another version of a plugin's package."""
    recorded = json.loads(growth.replace('"a":2', '"a":9'))
    log = json.dumps({**recorded, 'packages': ['acme-rails 1.0']}) + '\n'

    _, out, _ = program('replay', 'log', log=log)
    _, data, _ = program('replay', 'log', '-f', 'jsonl', log=log)

    assert out.splitlines()[0].endswith(f' by {recorded["version"]}, acme-rails 1.0')
    assert json.loads(data) == {
        'line': 'log, line 1',
        'request_id': 'req-1',
        'version': recorded['version'],
        'packages': ['acme-rails 1.0'],
        'at': '$.action.data.creation.zones.a',
        'was': 9,
        'now': 2,
    }


def test_replay_with_a_request_id_keeps_its_comment_on_one_line(program, growth):
    """A line break in the version of a log adds no line to the document."""
    broken = growth.replace(f'"{VERSION}"', '"1\\ndry_run: false"')

    _, out, _ = program('replay', '--request', 'req-1', 'log', log=broken)

    assert out.splitlines()[0].endswith(' by 1\\ndry_run: false')


def test_replay_with_a_request_id_prints_a_file_for_check_and_rebalance(program, growth):
    """The request of a decision is printed as YAML that `check` and `rebalance` read."""
    other = growth.replace('req-1', 'req-2')
    status, out, err = program('replay', '--request', 'req-1', 'log', log=other + growth)

    assert (status, err) == (0, '')
    assert out.startswith(f'# log, line 2: {OUT}, request req-1, decided 20')
    assert out.count('---\n') == 1
    printed = yaml.safe_load(out)
    assert printed['dry_run'] is True
    assert 'expires_at' not in printed
    cloud = '{zones: {a: true, b: true}}'
    for command in ('check', 'rebalance'):
        status, _, err = program(command, '--cloud', 'cloud', 'file', file=out, cloud=cloud)
        assert (status, err) == (0, '')


def test_why_shows_event_and_plan(run, shrinkage):
    """The table has a line per event, and the plan with the alternatives."""
    status, out, err = run('why', 'n1', '--log', 'log', log=shrinkage)

    assert (status, err) == (0, '')
    first, *about = out.splitlines()
    assert first.endswith(
        'CLUSTER_SCALE_IN act-1  node n1 chosen: rank 1 (oldest in a) among 1 victim'
    )
    assert about[:4] == [
        '    cluster web, zone a, request req-1',
        f'    worker {VERSION}',
        '    policy zone_placement (senlin.policy.zone_placement-1.0): 1 node leaves 1 zone',
        '    policy deletion (senlin.policy.deletion-1.1): Candidates generated',
    ]
    assert [row[0] for row in cells(out)[1:]] == ['a', 'b']


def test_why_of_a_new_node_says_which_places_are_usable(run, recorded):
    """The table of a creation shows where nodes can be created."""
    asked = request('NODE_CREATE', [ZONES], nodes(a=1), node=node(2))

    _, out, _ = run('why', 'n2', '--log', 'log', log=recorded(asked, a=True, b=False))

    assert [row[3] for row in cells(out)] == ['usable', 'yes', 'no']


@pytest.mark.parametrize(
    ('command', 'status'),
    [
        (['replay', 'log'], 1),
        *((['why', name, '--log', 'log'], 0) for name in ('n1', 'web', hostile_requests.TEXT)),
    ],
)
@pytest.mark.parametrize('form', ['table', 'jsonl'])
def test_hostile_text_in_a_log_is_shown_escaped(run, shrinkage, form, command, status):
    """A decision log with requests of an attacker cannot control the terminal."""
    log, evil = shrinkage, msgspec.json.encode(hostile_requests.TEXT).decode()[1:-1]
    for text in ('req-1', 'act-1', '1 node leaves 1 zone'):
        log = log.replace(text, evil)

    code, out, err = run(*command, '-f', form, log=log)

    assert (code, err, hostile_requests.raw(out)) == (status, '', [])
    assert 'evil' in out


def test_why_prints_what_the_manual_shows_for_its_example(run, recorded):
    """The event, the cluster with the node's zone, and the policies are those of the example."""
    page = (ROOT / 'doc' / 'source' / 'replay.rst').read_text(encoding='utf-8')
    example = ROOT / 'placement_worker' / 'examples' / 'scale-in.yaml'
    log = recorded(yaml.safe_load(example.read_text()), host='node1', az1=True, az2=True)

    log = log.replace('req-1', 'req-24f4a58e')

    deleted, spared = (run('why', node, '--log', 'log', log=log)[1] for node in ('n1', 'n4'))

    event, rest = deleted.replace(f'worker {VERSION}', 'worker 0.1.0').split('\n', 1)
    assert event.partition('  ')[2] in page
    assert textwrap.indent(rest, '    ') in page
    sentence = spared.splitlines()[0].rpartition('  ')[2]
    assert f'``{sentence}``' in ' '.join(page.split())


@pytest.mark.parametrize('name', ['n1', 'act-1'])
def test_why_of_a_record_names_the_packages_and_the_host_that_it_has(run, shrinkage, name):
    """The code of a plugin may change with its package; old records have no host."""
    old = {**json.loads(shrinkage), 'packages': ['acme-rails 1.0', 'other 2']}
    del old['host']

    _, out, _ = run('why', name, '--log', 'log', log=json.dumps(old) + '\n')

    worker = f'worker {VERSION}, acme-rails 1.0, other 2\n'
    assert (f'    {worker}' if name == 'n1' else f', {worker}    nodes: n1\n') in out
    assert 'usable' not in out  # an unavailable place gives nodes, too


@pytest.fixture
def actions(recorded):
    """Return a log with a dry run of an action, its check, and a failed check of another one."""
    asked = request(OUT, [ZONES], nodes(a=1), inputs={'count': 2})
    action = {**asked['action'], 'id': 'act-2'}
    failing = {**asked, 'policies': [zone_policy('b')], 'action': action}
    return recorded({**asked, 'dry_run': True}, asked, failing, host='node1', a=True, b=False)


def test_why_of_an_action_shows_its_checks_with_the_places_of_each_policy(run, actions):
    """An operator sees why a zone got no node, which worker decided, and what was a dry run."""
    status, out, err = run('why', 'act-1', '--log', 'log', log=actions)

    assert (status, err) == (0, '')
    headings = [line.partition('  ')[2] for line in out.splitlines() if 'worker' in line]
    assert headings == [
        f'dry run of action act-1, request req-1, worker {VERSION} on node1',
        f'action act-1, request req-2, worker {VERSION} on node1',
    ]
    assert out.count(f'{OUT} of cluster web (1 node), BEFORE: OK\n') == 2
    closed = [(row[6], row[8]) for row in cells(out) if row[0] == 'b']
    assert closed == [('0', 'unavailable')] * 2


def test_why_of_an_action_that_failed_shows_the_reason(run, actions):
    """The failed policy is shown with its reason."""
    status, out, _ = run('why', 'act-2', '--log', 'log', log=actions)

    assert status == 0
    assert 'BEFORE: ERROR\nNo availability zone found available.\n' in out
    assert '1. zone_placement (senlin.policy.zone_placement-1.0, priority 300): FAILED in' in out


@pytest.mark.parametrize('name', ['c1', 'web'])
def test_why_of_a_cluster_lists_its_latest_actions_and_the_next_command(run, actions, name):
    """An operator who knows only the cluster finds the action."""
    status, out, err = run('why', name, '--log', 'log', log=actions)

    lines = out.splitlines()
    assert (status, err) == (0, '')
    assert lines[0] == 'Cluster web, the latest 3 of 3 decisions:'
    assert [row[1:] for row in cells(out)] == [
        ['action', 'check', 'places', 'outcome'],
        [OUT, 'BEFORE', 'to create in a: 2', 'OK'],
        ['act-1', 'dry run', '', 'Completed policy checking.'],
        [OUT, 'BEFORE', 'to create in a: 2', 'OK'],
        ['act-1', '', '', 'Completed policy checking.'],
        [OUT, 'BEFORE', '', 'ERROR'],
        ['act-2', '', '', 'No availability zone found available.'],
    ]
    assert lines[-1].endswith(': placement-policy why act-2 --log log')
    _, out, _ = run('why', name, '--log', 'log', log=actions * 10)
    assert out.startswith('Cluster web, the latest 20 of 30 decisions:\n')
    assert out.count(OUT) == 20


def test_why_of_a_cluster_without_actions_names_no_command(run, recorded):
    """The attachment of a policy belongs to no action that could be shown."""
    status, out, _ = run('why', 'web', '--log', 'log', log=recorded(bind(deletion_policy())))

    assert status == 0
    assert 'policy_attach | -' in out
    assert out.endswith('+\n')


@pytest.mark.parametrize(('name', 'found'), [('act-2', ['act-2']), ('web', ['act-1', 'act-2'])])
def test_why_of_an_action_or_a_cluster_as_jsonl_prints_decisions_by_line(run, actions, name, found):
    """A program gets each decision with the details of its policies."""
    _, out, _ = run('why', name, '--log', 'log', '-f', 'jsonl', log=actions)

    decisions = [json.loads(text) for text in out.splitlines()]
    assert sorted({decision['action_id'] for decision in decisions}) == found
    names = [decision['decisions'][0]['policy_name'] for decision in decisions]
    assert names == ['zone_placement'] * len(decisions)


@pytest.fixture
def log(recorded):
    """Return a decision log with three nodes of the cluster web and two of the cluster db."""
    grown = request(OUT, [ZONES], nodes(a=1, b=2), inputs={'count': 2})
    other = request('CLUSTER_UPDATE', [], [node(1, 'b', 'R1'), node(2)])
    other['cluster'] |= {'id': 'id-db', 'name': 'db', 'project': 'p2'}
    return recorded(grown, other).replace('"req-2"', 'null')


def test_clusters_shows_nodes_by_place_and_the_latest_check(run, log):
    """The table has the owner, the nodes of each place, new ones, and the id of the request."""
    status, out, err = run('clusters', '--log', 'log', log=log)

    titles, *rows = cells(out)
    assert (status, err) == (0, '')
    assert titles == ['cluster', 'project', 'nodes', 'latest check']
    assert [row[:3] for row in rows] == [
        ['db', 'p2', 'R1 b: 1'],
        ['', '', 'unknown: 1'],
        ['', '', ''],
        ['web', 'p1', 'a: 1'],
        ['', '', 'b: 2'],
        ['', '', 'to create in a: 2'],
    ]
    assert [row[3] for row in rows][1:3] == ['CLUSTER_UPDATE', 'no request id']
    assert [row[3] for row in rows][4:] == [OUT, 'req-1']


@pytest.mark.parametrize(
    ('options', 'found', 'missed'),
    [
        ('', ['db', 'web'], ''),
        ('--zone a', ['web'], 'db'),
        ('--zone b', ['db', 'web'], ''),
        ('--zone b --region R1', ['db'], 'web'),
        ('--region R1', ['db'], 'web'),
        ('--cluster id-db', ['db'], ''),
        ('--cluster web --zone b', ['web'], ''),
        ('--cluster web --zone a', ['web'], ''),
        ('--zone az9', [], 'db'),
    ],
)
def test_clusters_match_all_options_or_may_match_with_nodes_of_unknown_place(
    options, found, missed, run, log
):
    """An operator who drains a zone misses no cluster whose check had no zones."""
    command = ('clusters', '--log', 'log', *options.split(), '-f', 'jsonl')
    status, out, err = run(*command, log=log)

    named = f'1 cluster has nodes of unknown region or zone: {missed}; compare with Nova\n'
    assert [json.loads(line)['name'] for line in out.splitlines()] == found
    assert status == (0 if found else 1)
    assert err.endswith(named) if missed else err == ''


def test_clusters_as_yaml_prints_files_for_rebalance(run, log):
    """A comment warns of missing nodes, and so does standard error: a pipe hides the comments."""
    status, out, err = run('clusters', '--log', 'log', '-f', 'yaml', log=log)
    _, _, silent = run('clusters', '--log', 'log', '--cluster', 'db', '-f', 'yaml', log=log)
    _, plans, _ = run('rebalance', '--cloud', 'cloud.yaml', 'all.yaml', **{'all.yaml': out})

    comments = [line for line in out.splitlines() if line.startswith('#')]
    assert comments[1].startswith(f'# web: {OUT} decided ')
    assert comments[1].endswith('; without 2 nodes to create')
    assert [file['cluster']['name'] for file in yaml.safe_load_all(out)] == ['db', 'web']
    assert 'Rebalance of cluster web (3 nodes): OK' in plans
    time = comments[1].partition(' decided ')[2].partition(';')[0]
    assert (status, silent) == (0, '')
    assert err == (
        'placement-policy clusters: Warning: the file of cluster web lacks the nodes to create by '
        f'{OUT}, decided {time} (a: 2); if they exist, the file is out of date: '
        'correct its nodes before a plan\n'
    )


def test_clusters_warns_of_victims_that_no_policy_chose(run, recorded):
    """A cluster whose engine chooses the victims has too many nodes, and the output says so."""
    members = nodes(a=2, b=1)
    log = recorded(request('CLUSTER_SCALE_IN', [ZONES], members, inputs={'count': 1}))

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
