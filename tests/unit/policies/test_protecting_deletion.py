"""Version 1.2 of the deletion policy, checked through the chain."""

import pytest

from tests.factories import deletion_policy, node, nodes, request, zone_policy

SCALE_IN = 'CLUSTER_SCALE_IN'
BATCH_JOB = {'until': '9999-12-01', 'reason': 'batch job'}
TOO_FEW = (
    'Only 1 of 3 nodes can be deleted: n4 is protected until 9999-12-01 (batch job), '
    'n5 is protected'
)


@pytest.fixture
def members():
    """Three nodes, n3 to n5; the last two are protected."""
    return [
        node(3, 'a'),
        node(4, 'a', metadata={'protected': BATCH_JOB}),
        node(5, 'b', metadata={'protected': 'True'}),
    ]


@pytest.mark.parametrize('zones', [[], [zone_policy('a', 'b')]], ids=['alone', 'with zones'])
@pytest.mark.parametrize('policy', [{}, {'protection': 'best_effort'}], ids=['default', 'named'])
def test_best_effort_deletes_fewer_nodes_with_a_warning(check, members, zones, policy):
    """By default fewer nodes are deleted, the reply says how many, and a warning says why."""
    bound = [*zones, deletion_policy(version='1.2', **policy)]

    reply = check(request(SCALE_IN, bound, members, inputs={'count': 3}), 'ab')

    deletion = reply['action']['data']['deletion']
    assert (deletion['count'], deletion['candidates']) == (1, ['n3'])
    assert reply['warnings'] == [TOO_FEW]
    assert reply['action']['data']['status'] == 'OK'


def test_best_effort_with_protected_nodes_alone_deletes_none(check, members):
    """An empty list of victims keeps the engine from choosing by itself."""
    asked = request(SCALE_IN, [zone_policy('a', 'b'), deletion_policy(version='1.2')], members[1:])

    reply = check(asked, 'ab')

    deletion = reply['action']['data']['deletion']
    assert (deletion['count'], deletion['candidates']) == (0, [])
    assert reply['warnings'][0].startswith('Only 0 of 1 node can be deleted: n4 is protected')
    assert reply['decisions'][0]['reason'] == 'All nodes are protected.'


@pytest.mark.parametrize('zones', [[], [zone_policy('a', 'b')]], ids=['alone', 'with zones'])
def test_strict_with_too_few_nodes_fails(check, members, zones):
    """In strict mode the check fails with the numbers, the protected nodes and their details."""
    bound = [*zones, deletion_policy(version='1.2', protection='strict')]

    reply = check(request(SCALE_IN, bound, members, inputs={'count': 3}, explain='full'), 'ab')

    assert reply['action']['data']['status'] == 'ERROR'
    assert reply['action']['data']['reason'] == TOO_FEW
    details = reply['decisions'][-1]['details']
    assert details['protected'] == 2
    assert details['protected_nodes'][0] == {
        'id': 'n4', 'place': 'a' if zones else '', 'until': '9999-12-01', 'reason': 'batch job'
    }  # fmt: skip


def test_strict_with_enough_nodes_deletes_the_unprotected_ones(check, members):
    """In strict mode protected nodes are spared without an error while others suffice."""
    bound = [zone_policy('a', 'b'), deletion_policy(version='1.2', protection='strict')]

    reply = check(request(SCALE_IN, bound, members), 'ab')

    assert reply['action']['data']['deletion']['candidates'] == ['n3']
    assert (reply['warnings'], reply['decisions'][1]['details']['protected']) == ([], 2)


def test_strict_with_more_nodes_than_exist_takes_all_as_before(check):
    """Strict mode concerns protected nodes only: an excessive count is still trimmed."""
    bound = [deletion_policy(version='1.2', protection='strict')]

    reply = check(request(SCALE_IN, bound, nodes(a=2), inputs={'count': 5}))

    assert reply['action']['data']['deletion']['candidates'] == ['n1', 'n2']


@pytest.mark.parametrize('version', ['1.0', '1.1', '1.2'])
@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n3', 'n4', 'n5']}}),
        ('CLUSTER_SCALE_IN', {'inputs': {'candidates': ['n4', 'n5']}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'candidates': ['n4', 'n5']}}}),
    ],
)
def test_named_protected_nodes_are_refused_by_each_version(check, members, version, action, more):
    """A protected node that the action or an earlier policy names is an error that names it."""
    reply = check(request(action, [deletion_policy(version=version)], members, **more))

    assert reply['action']['data']['status'] == 'ERROR'
    assert reply['action']['data']['reason'] == (
        'Protected nodes must not be deleted: n4 is protected until 9999-12-01 (batch job), '
        'n5 is protected; remove their protection first'
    )


@pytest.mark.parametrize('version', ['1.0', '1.1', '1.2'])
@pytest.mark.parametrize('marked', ['node', 'member'])
def test_deletion_of_a_protected_node_is_refused(check, version, marked):
    """A NODE_DELETE of a protected node fails, whichever entry of the request is marked."""
    mark = {'metadata': {'protected': 'true'}}
    member = node(1, **(mark if marked == 'member' else {}))
    target = node(1, **(mark if marked == 'node' else {}))

    reply = check(request('NODE_DELETE', [deletion_policy(version=version)], [member], node=target))

    assert reply['action']['data']['reason'] == (
        'Protected nodes must not be deleted: n1 is protected; remove their protection first'
    )


@pytest.mark.parametrize(
    ('replaced', 'reason'),
    [
        ('n3', 'Completed policy checking.'),
        (
            'n5',
            'Protected nodes must not be deleted: n5 is protected; remove their protection first',
        ),
        ('n9', 'Not a member of cluster c1: n9'),
    ],
)
def test_replacement_of_a_protected_node_is_refused(check, members, replaced, reason):
    """Version 1.2 refuses to replace protected nodes, and leaves the data of the action alone."""
    inputs = {'candidates': {replaced: 'n7'}}

    reply = check(
        request('CLUSTER_REPLACE_NODES', [deletion_policy(version='1.2')], members, inputs=inputs)
    )

    assert reply['action']['data'] == {
        'status': 'OK' if replaced == 'n3' else 'ERROR', 'reason': reason
    }  # fmt: skip


def test_replacement_is_skipped_by_earlier_versions(check, members):
    """Versions before 1.2 do not handle replacements, and other nodes may be replaced."""
    inputs = {'candidates': {'n3': 'n7'}}

    reply = check(request('CLUSTER_REPLACE_NODES', [deletion_policy()], members, inputs=inputs))

    assert reply['decisions'][0]['outcome'] == 'SKIPPED'
    assert reply['action']['data']['status'] == 'OK'


def test_invalid_protection_protects_with_a_warning(check):
    """A value that cannot be parsed keeps the node; a warning shows the value."""
    members = [node(1, metadata={'protected': 'maybe'}), node(2)]

    reply = check(request(SCALE_IN, [deletion_policy(version='1.2')], members))

    assert reply['action']['data']['deletion']['candidates'] == ['n2']
    assert reply['warnings'] == [
        'Cannot parse `protected`, so these nodes stay protected: n1 (got `"maybe"`); expected '
        '`true`, `false`, a time in ISO 8601, or `{until, reason}`'
    ]
