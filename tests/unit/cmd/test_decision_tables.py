"""Tables of the decisions about an action or a cluster, for `placement-policy why`."""

import json
from importlib import metadata

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions.records import DecisionLog
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import bind, deletion_policy, nodes, request, zone_policy


@pytest.fixture
def actions(registry, capsys):
    """Return a log with a dry run of an action, its check, and a failed check of another one."""
    lines = []
    cloud = Inventory.parse({'zones': {'a': True, 'b': False}}, 'test')
    endpoints = Endpoints(cloud, registry, recorder=DecisionLog(lines.append, 'node1'))
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], nodes(a=1), inputs={'count': 2})
    endpoints.policy_check({**asked, 'dry_run': True}, 'req-0')
    endpoints.policy_check(asked, 'req-1')
    failing = {
        **asked,
        'policies': [zone_policy('b')],
        'action': {**asked['action'], 'id': 'act-2'},
    }
    endpoints.policy_check(failing, 'req-2')
    capsys.readouterr()  # the log of the checks
    return b''.join(lines).decode()


def test_why_of_an_action_shows_its_checks_with_the_places_of_each_policy(run, actions):
    """An operator sees why a zone got no node, which worker decided, and what was a dry run."""
    status, out, err = run('why', 'act-1', '--log', 'log', log=actions)

    assert (status, err) == (0, '')
    version = metadata.version('placement-worker')
    headings = [line.partition('  ')[2] for line in out.splitlines() if 'worker' in line]
    assert headings == [
        f'dry run of action act-1, request req-0, worker {version} on node1',
        f'action act-1, request req-1, worker {version} on node1',
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


def test_why_of_a_cluster_with_many_decisions_lists_the_latest(run, actions):
    """A long log does not flood the terminal."""
    _, out, _ = run('why', 'web', '--log', 'log', log=actions * 10)

    assert out.startswith('Cluster web, the latest 20 of 30 decisions:\n')
    assert out.count('CLUSTER_SCALE_OUT') == 20


def test_why_of_a_cluster_without_actions_names_no_command(run, registry):
    """The attachment of a policy belongs to no action that could be shown."""
    lines = []
    endpoints = Endpoints(Inventory(), registry, recorder=DecisionLog(lines.append))
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
