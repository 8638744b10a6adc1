"""placement-policy why."""

import json
from importlib import metadata
from pathlib import Path

import msgspec
import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions.records import DecisionLog
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests import hostile_requests
from tests.factories import bind, deletion_policy, node, nodes, request, zone_policy

ROOT = Path(__file__).parents[3]


@pytest.fixture
def line(recorded):
    """Return one line of a decision log."""
    policies = [zone_policy('a', 'b'), deletion_policy('OLDEST_FIRST')]
    return recorded(request('CLUSTER_SCALE_IN', policies, nodes(a=2, b=1), inputs={'count': 1}))


def test_why_shows_event_and_plan(run, line):
    """The table has a line per event, and the plan with the alternatives."""
    status, out, err = run('why', 'n1', '--log', 'log', log=line)

    assert (status, err) == (0, '')
    first, about, *table = out.splitlines()
    assert first.endswith(
        'CLUSTER_SCALE_IN act-1  node n1 chosen: rank 1 (oldest in a) among 1 victim'
    )
    assert about == '    cluster web, zone a, request req-1'
    assert table[:3] == [
        f'    worker {metadata.version("placement-worker")}',
        '    policy zone_placement (senlin.policy.zone_placement-1.0): 1 node leaves 1 zone',
        '    policy deletion (senlin.policy.deletion-1.1): Candidates generated',
    ]
    places = [row.split()[1:3] for row in table if ' a ' in row or ' b ' in row]
    assert places == [['a', '|'], ['b', '|']]


def test_why_of_a_new_node_says_which_places_are_usable(run, recorded):
    """The table of a creation shows where nodes can be created."""
    asked = request('NODE_CREATE', [zone_policy('a', 'b')], nodes(a=1), node=node(2))

    _, out, _ = run('why', 'n2', '--log', 'log', log=recorded(asked, a=True, b=False))

    usable = [row.split('|')[4].strip() for row in out.splitlines() if '|' in row]
    assert usable == ['usable', 'yes', 'no']


def test_why_as_jsonl_prints_one_line_per_event(run, line):
    """The JSON output has one line per event."""
    _, out, _ = run('why', 'n2', '--log', 'log', '-f', 'jsonl', log=line)

    (event,) = map(json.loads, out.splitlines())
    assert (event['event'], event['node'], event['request_id']) == ('spared', 'n2', 'req-1')


def test_why_of_an_unknown_node_exits_with_1(run, line):
    """A node without any decision is reported."""
    status, out, err = run('why', 'n9', '--log', 'log', log=line)

    assert (status, out) == (1, '')
    assert err == (
        'placement-policy why: No decision about a node, an action or a cluster n9 in the logs; '
        'name the logs of all workers with their rotated files; a request that was refused, '
        'failed, was parked or reached no worker has no decision: look for its cluster in the log '
        'of each worker (journalctl --unit placement-worker) and in "placement-policy parked '
        'list"\n'
    )


def test_why_of_a_node_without_a_decision_names_its_cluster(run, recorded):
    """A node that requests have leads to the decisions about its cluster."""
    log = recorded(request('CLUSTER_UPDATE', [], nodes(a=1)))

    assert run('why', 'n1', '--log', 'log', log=log) == (
        1,
        '',
        'placement-policy why: No decision names node n1 of cluster web; for the decisions about '
        'the cluster, run: placement-policy why web --log log\n',
    )


def test_why_with_the_node_after_the_log_names_the_order(run):
    """argparse takes such a node for a file; the error says where to put it."""
    status, _, err = run('why', '--log', 'log', 'n1')

    assert (status, '; put NAME before --log; run ' in err) == (2, True)


@pytest.mark.parametrize('name', ['n1', 'n9'])
@pytest.mark.parametrize('damaged', ['{"at": ', 'garbage', '{"at": "n1'])
def test_why_of_a_damaged_line_exits_with_2(run, line, name, damaged):
    """A damaged line may have lost the name of the node, so it is reported for every node."""
    status, out, err = run('why', name, '--log', 'log', log=f'{line}{damaged}\n')

    assert status == 2
    assert ('chosen: rank 1' in out) is (name == 'n1')
    (message,) = err.splitlines()
    assert message.startswith('placement-policy why: log, line 2: Expected JSON - at `$`: ')
    assert message.endswith('; skipped the line')


@pytest.mark.parametrize('name', ['n1', 'web', hostile_requests.TEXT])
@pytest.mark.parametrize('form', ['table', 'jsonl'])
def test_why_with_hostile_text_in_a_log_shows_it_escaped(run, line, form, name):
    """A decision log with requests of an attacker cannot control the terminal."""
    evil = msgspec.json.encode(hostile_requests.TEXT).decode()[1:-1]

    log = line.replace('req-1', evil).replace('act-1', evil)
    status, out, err = run('why', name, '--log', 'log', '-f', form, log=log)

    assert (status, err, hostile_requests.raw(out)) == (0, '', [])
    assert 'evil' in out


def test_why_prints_what_the_manual_shows_for_its_example(run, recorded):
    """The event, the cluster with the node's zone, and the policies are those of the example."""
    page = (ROOT / 'doc' / 'source' / 'replay.rst').read_text(encoding='utf-8')
    example = ROOT / 'placement_worker' / 'examples' / 'scale-in.yaml'
    log = recorded(yaml.safe_load(example.read_text()), host='node1', az1=True, az2=True)

    _, out, _ = run('why', 'n4', '--log', 'log', log=log.replace('req-1', 'req-24f4a58e'))

    event, *rest = out.splitlines()
    assert event.partition('  ')[2] in page
    version = metadata.version('placement-worker')
    lines = [line.replace(f'worker {version}', 'worker 0.1.0') for line in rest[:4]]
    assert {f'    {line}' for line in lines} <= set(page.splitlines())


@pytest.mark.parametrize('name', ['n1', 'act-1'])
def test_why_of_a_record_names_the_packages_and_the_host_that_it_has(run, line, name):
    """The code of a plugin may change with its package; old records have no host."""
    old = {**json.loads(line), 'packages': ['acme-rails 1.0', 'other 2']}
    del old['host']

    _, out, _ = run('why', name, '--log', 'log', log=json.dumps(old) + '\n')

    worker = f'worker {metadata.version("placement-worker")}, acme-rails 1.0, other 2\n'
    assert (f'    {worker}' if name == 'n1' else f', {worker}    nodes: n1\n') in out
    assert 'usable' not in out  # an unavailable place gives nodes, too


@pytest.fixture
def actions(recorded):
    """Return a log with a dry run of an action, its check, and a failed check of another one."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], nodes(a=1), inputs={'count': 2})
    action = {**asked['action'], 'id': 'act-2'}
    failing = {**asked, 'policies': [zone_policy('b')], 'action': action}
    return recorded({**asked, 'dry_run': True}, asked, failing, host='node1', a=True, b=False)


def test_why_of_an_action_shows_its_checks_with_the_places_of_each_policy(run, actions):
    """An operator sees why a zone got no node, which worker decided, and what was a dry run."""
    status, out, err = run('why', 'act-1', '--log', 'log', log=actions)

    assert (status, err) == (0, '')
    version = metadata.version('placement-worker')
    headings = [line.partition('  ')[2] for line in out.splitlines() if 'worker' in line]
    assert headings == [
        f'dry run of action act-1, request req-1, worker {version} on node1',
        f'action act-1, request req-2, worker {version} on node1',
    ]
    assert out.count('CLUSTER_SCALE_OUT of cluster web (1 node), BEFORE: OK\n') == 2
    rows = [line.split('|')[1:-1] for line in out.splitlines() if '| b ' in line]
    assert [(row[6].strip(), row[8].strip()) for row in rows] == [('0', 'unavailable')] * 2


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

    title, *table, remedy = out.splitlines()
    rows = [[cell.strip() for cell in row.split('|')[2:-1]] for row in table if '|' in row]
    assert (status, err) == (0, '')
    assert title == 'Cluster web, the latest 3 of 3 decisions:'
    assert rows == [
        ['action', 'check', 'places', 'outcome'],
        ['CLUSTER_SCALE_OUT', 'BEFORE', 'to create in a: 2', 'OK'],
        ['act-1', 'dry run', '', 'Completed policy checking.'],
        ['CLUSTER_SCALE_OUT', 'BEFORE', 'to create in a: 2', 'OK'],
        ['act-1', '', '', 'Completed policy checking.'],
        ['CLUSTER_SCALE_OUT', 'BEFORE', '', 'ERROR'],
        ['act-2', '', '', 'No availability zone found available.'],
    ]
    assert remedy.endswith(': placement-policy why act-2 --log log')
    _, out, _ = run('why', name, '--log', 'log', log=actions * 10)
    assert out.startswith('Cluster web, the latest 20 of 30 decisions:\n')
    assert out.count('CLUSTER_SCALE_OUT') == 20


def test_why_of_a_cluster_without_actions_names_no_command(run, registry):
    """The attachment of a policy belongs to no action that could be shown."""
    lines = []
    endpoints = Endpoints(
        Inventory(), registry, WorkerSettings(recorder=DecisionLog(lines.append, None, {}))
    )
    endpoints.policy_attach(bind(deletion_policy()), 'req-1')

    status, out, _ = run('why', 'web', '--log', 'log', log=lines[0].decode())

    assert status == 0
    assert 'policy_attach | -' in out
    assert out.endswith('+\n')


@pytest.mark.parametrize(('name', 'found'), [('act-2', ['act-2']), ('web', ['act-1', 'act-2'])])
def test_why_of_an_action_or_a_cluster_as_jsonl_prints_one_line_per_decision(
    run, actions, name, found
):
    """A program gets each decision with the details of its policies."""
    _, out, _ = run('why', name, '--log', 'log', '-f', 'jsonl', log=actions)

    decisions = [json.loads(text) for text in out.splitlines()]
    assert sorted({one['action_id'] for one in decisions}) == found
    assert [one['decisions'][0]['policy_name'] for one in decisions] == (
        ['zone_placement'] * len(decisions)
    )


def test_why_of_an_action_with_an_edited_reply_exits_with_2(run, actions):
    """A check without its outcome is reported with its line, and the others are shown."""
    first, *others = actions.splitlines(keepends=True)
    edited = json.loads(first)
    del edited['reply']['action']['data']['status']

    log = json.dumps(edited) + '\n' + ''.join(others)
    status, out, err = run('why', 'act-1', '--log', 'log', log=log)

    assert status == 2
    assert out.count('BEFORE: OK') == 1
    assert 'log, line 1: Object missing required field `status` - at `$.reply.action.data`' in err
