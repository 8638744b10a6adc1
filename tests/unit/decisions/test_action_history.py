"""The decisions about an action or a cluster in decision logs."""

import pytest

from placement_worker.decisions import action_history
from tests.factories import bind, deletion_policy, node, nodes, request, zone_policy
from tests.unit.decisions.conftest import shrinking


@pytest.fixture
def read(tmp_path):
    """Return a function that writes logs of these lines and reads decisions by a name."""

    def found(name, *logs):
        paths = []
        for number, lines in enumerate(logs):
            paths.append(str(tmp_path / f'log.{number}'))
            (tmp_path / f'log.{number}').write_bytes(b''.join(lines))
        return action_history.read(paths, name)

    return found


def test_read_of_an_action_returns_its_checks_of_all_logs_in_the_order_of_time(decide, read):
    """The checks before and after an action may be in the logs of different workers."""
    before, _ = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs={'count': 1}))
    data = {'creation': {'count': 1, 'nodes': ['n1']}}
    after, _ = decide(request('CLUSTER_SCALE_OUT', [], nodes(a=1), target='AFTER', data=data))

    checks = read('act-1', [after], [before]).of_action

    assert [(one.summary.target, one.summary.nodes) for one in checks] == [
        ('BEFORE', []),
        ('AFTER', ['n1']),
    ]
    assert checks[0].reply.decisions[0].details['zones'][0]['name'] == 'a'


def test_read_of_an_action_leaves_out_the_checks_of_other_actions(decide, read):
    """An action whose id begins like the one that was sought is not it."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    assert read('act-', [line]) == ([], [])


@pytest.mark.parametrize('name', ['c1', 'web'])
def test_read_of_a_cluster_returns_its_checks_and_attachments(decide, read, name):
    """The decisions about a cluster are found by its id and by its name."""
    lines = [
        decide(shrinking(1, *nodes(a=2)))[0],
        decide(bind(deletion_policy()), method='policy_attach')[0],
    ]

    found = read(name, lines)

    assert found.of_action == []
    assert [(one.action, one.action_id, one.status) for one in found.of_cluster] == [
        ('CLUSTER_SCALE_IN', 'act-1', 'OK'),
        ('policy_attach', None, 'OK'),
    ]


def test_summary_of_a_dry_run_says_so(decide, read):
    """A dry run is not mistaken for a decision that an engine carried out."""
    line, _ = decide(shrinking(1, *nodes(a=2), dry_run=True))

    (check,) = read('act-1', [line]).of_action

    assert check.summary.dry_run


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


def test_read_leaves_out_malformed_lines(decide, read):
    """A damaged line does not hide the other decisions."""
    line, _ = decide(shrinking(1, *nodes(a=2)))
    edited = line.replace(b'"candidates":["n1"]', b'"candidates":"n1"')

    assert edited != line
    assert len(read('act-1', [b'act-1\n', edited, line]).of_action) == 1
