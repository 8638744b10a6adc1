"""The deletion policy, checked through the chain."""

import pytest

from tests.factories import (
    connected,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import left

SCALE_IN, RESIZE, DEL_NODES = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE', 'CLUSTER_DEL_NODES'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}
HOOKED = [deletion_policy(hooks=HOOKS)]
OLDEST = [deletion_policy()]
GROW = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 1}


def deleted(reply):
    return reply['action']['data']['deletion']['candidates']


def test_deletion_reply_has_victims_properties_hooks_and_unknown_keys(check):
    """The reply holds the victims, the properties of the policy, and all keys of earlier data."""
    properties = {
        'grace_period': 7,
        'destroy_after_deletion': False,
        'reduce_desired_capacity': False,
    }
    policy = deletion_policy(**properties, hooks=HOOKS)
    data = {'deletion': {'count': 2, 'mark': 'x'}, 'other': 1}

    reply = check(request(SCALE_IN, [policy], nodes(a=3), data=data))

    assert reply['action']['data'] == {
        'deletion': {'count': 2, 'candidates': ['n1', 'n2'], 'mark': 'x', **properties},
        'hooks': {**HOOKS, 'params': {'queue': '', 'url': 'http://here/'}},
        'other': 1,
        'status': 'OK',
        'reason': 'Candidates generated',
    }


@pytest.mark.parametrize(
    ('action', 'more', 'victims'),
    [
        (DEL_NODES, {'inputs': {'candidates': ['n3', 'n1']}}, ['n3', 'n1']),
        (DEL_NODES, {'inputs': {'candidates': {'n3': 'n8', 'n1': 'n9'}}}, ['n3', 'n1']),
        (SCALE_IN, {'inputs': {'candidates': ['n3', 'n1']}}, ['n3', 'n1']),
        ('NODE_DELETE', {'node': node(2)}, ['n2']),
        ('NODE_DELETE', {'node': node(2), 'inputs': {'candidates': ['n1']}}, ['n1']),
        (RESIZE, {'inputs': {**GROW, 'number': -2, 'candidates': ['n3', 'n1']}}, ['n3', 'n1']),
    ],
)
def test_named_nodes_are_the_victims_in_their_order(check, action, more, victims):
    """Nodes that the action names are the victims, without hooks and without a warning."""
    reply = check(request(action, HOOKED, nodes(a=3), **more))

    assert (deleted(reply), reply['warnings']) == (victims, [])
    assert 'hooks' not in reply['action']['data']


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (DEL_NODES, {'inputs': {'candidates': ['n1', 'n7', 'n8']}}, 'cluster c1: n7, n8'),
        (DEL_NODES, {}, 'Expected the nodes to delete, got none - at `$.action.inputs.candidates`'),
        ('NODE_DELETE', {'node': node(9)}, 'Not a member of cluster c1: n9'),
        # The error lists up to ten ids, each cut to 80 characters.
        (DEL_NODES, {'inputs': {'candidates': ['x' * 100]}}, f'cluster c1: {"x" * 80}...'),
        (DEL_NODES, {'inputs': {'candidates': [f's{n}' for n in range(12)]}},
         'cluster c1: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 and 2 more'),
        (RESIZE, {'data': {'creation': {}, 'deletion': {'candidates': ['n7']}}}, 'cluster c1: n7'),
        *(
            (action, {'node': node(1), 'data': {'deletion': malformed}}, '$.action.data.deletion`')
            for action in (DEL_NODES, 'NODE_DELETE', SCALE_IN, RESIZE)
            for malformed in (None, 'x', 5, [])
        ),
    ],
)  # fmt: skip
def test_victims_that_cannot_be_deleted_are_an_error(check, action, more, reason):
    """Nodes outside the cluster and malformed data end the check in ERROR."""
    inputs = {'candidates': ['n1']} if 'data' in more and action != RESIZE else {}

    data = check(request(action, OLDEST, nodes(a=1), **{'inputs': inputs, **more}))['action'][
        'data'
    ]

    assert (data['status'], data['reason'][-len(reason) :]) == ('ERROR', reason)


BATCH_JOB = {'until': '9999-12-01', 'reason': 'batch job'}
TOO_FEW = (
    'Only 1 of 3 nodes can be deleted: n4 is protected until 9999-12-01 (batch job), '
    'n5 is protected'
)
REFUSED = 'Protected nodes must not be deleted: {} is protected; remove their protection first'
PROTECTING = deletion_policy(version='1.2')
STRICT = deletion_policy(version='1.2', protection='strict')
BEST_EFFORT = deletion_policy(version='1.2', protection='best_effort')
ZONES = zone_policy('a', 'b')
UNPARSED = [node(1, 'a', metadata={'protected': 'maybe'}), node(2, 'a')]
CANNOT_PARSE = (
    'Cannot parse `protected`, so these nodes stay protected: n1 (got `"maybe"`); expected `true`, '
    '`false`, a time in ISO 8601, or `{until, reason}`'
)


# n4 and n5 are protected.
MEMBERS = [
    node(3, 'a'),
    node(4, 'a', metadata={'protected': BATCH_JOB}),
    node(5, 'b', metadata={'protected': 'True'}),
]


@pytest.mark.parametrize(
    ('policy', 'members', 'count', 'victims', 'warnings'),
    [
        (PROTECTING, MEMBERS, 3, ['n3'], [TOO_FEW]),
        (BEST_EFFORT, MEMBERS, 3, ['n3'], [TOO_FEW]),
        # An empty list of victims keeps the engine from choosing by itself.
        (PROTECTING, MEMBERS[1:], 1, [], [TOO_FEW.replace('1 of 3 nodes', '0 of 1 node')]),
        # Strict mode spares protected nodes while others suffice, and concerns only them.
        (STRICT, MEMBERS, 1, ['n3'], []),
        (PROTECTING, UNPARSED, 1, ['n2'], [CANNOT_PARSE]),
    ],
    ids=['default', 'named', 'none left', 'strict', 'invalid protection'],
)
@pytest.mark.parametrize('zones', [[], [ZONES]], ids=['alone', 'with zones'])
def test_protected_nodes_are_spared_with_a_warning(
    check, zones, policy, members, count, victims, warnings
):
    """If too few nodes are left, fewer are deleted, and a warning says how many and why."""
    reply = check(request(SCALE_IN, [*zones, policy], members, inputs={'count': count}), 'ab')

    data, decision = reply['action']['data'], reply['decisions'][-1]
    assert (data['status'], data['deletion']['count']) == ('OK', len(victims))
    assert (data['deletion']['candidates'], reply['warnings']) == (victims, warnings)
    protected = sum('metadata' in member for member in members)
    assert decision['details'].get('protected', 0) == protected
    assert victims or reply['decisions'][0]['reason'] == 'All nodes are protected.'


@pytest.mark.parametrize('zones', [[], [ZONES]], ids=['alone', 'with zones'])
def test_strict_with_too_few_nodes_fails(check, zones):
    """In strict mode the check fails with the numbers, the protected nodes and their details."""
    asked = request(SCALE_IN, [*zones, STRICT], MEMBERS, inputs={'count': 3}, explain='full')

    reply = check(asked, 'ab')

    data, details = reply['action']['data'], reply['decisions'][-1]['details']
    assert (data['status'], data['reason'], details['protected']) == ('ERROR', TOO_FEW, 2)
    first = {'id': 'n4', 'place': 'a' if zones else '', **BATCH_JOB}
    assert details['protected_nodes'][0] == first


def test_strict_with_more_nodes_than_exist_takes_all_as_before(check):
    """Strict mode concerns protected nodes only: an excessive count is still trimmed."""
    reply = check(request(SCALE_IN, [STRICT], nodes(a=2), inputs={'count': 5}))

    assert deleted(reply) == ['n1', 'n2']


@pytest.mark.parametrize(
    ('policy', 'replaced', 'reason'),
    [
        (PROTECTING, 'n3', 'Completed policy checking.'),
        (PROTECTING, 'n5', REFUSED.format('n5')),
        (PROTECTING, 'n9', 'Not a member of cluster c1: n9'),
        (deletion_policy(), 'n9', 'Completed policy checking.'),
    ],
)
def test_replacement_of_a_protected_node_is_refused(check, policy, replaced, reason):
    """Version 1.2 refuses to replace protected nodes, and leaves the data of the action alone."""
    inputs = {'candidates': {replaced: 'n7'}}

    reply = check(request('CLUSTER_REPLACE_NODES', [policy], MEMBERS, inputs=inputs))

    status = 'OK' if reason.startswith('Completed') else 'ERROR'
    assert reply['action']['data'] == {'status': status, 'reason': reason}


VICTIM = {'deletion': {'count': 1, 'candidates': ['n1']}}


@pytest.mark.parametrize(
    ('action', 'policies', 'more', 'added'),
    [
        *(
            (RESIZE, policies, {'data': {'creation': {'count': 2}, **VICTIM}}, '2 nodes')
            for policies in (OLDEST, [ZONES], [ZONES, *OLDEST])
        ),
        ('CLUSTER_SCALE_OUT', [ZONES], {'inputs': {'count': 2}, 'data': VICTIM}, '2 nodes'),
        ('NODE_CREATE', [ZONES], {'node': node(3), 'data': VICTIM}, '1 node'),
    ],
)
def test_deletion_in_an_action_that_adds_nodes_is_left_out_with_a_warning(
    check, action, policies, more, added
):
    """The reply to an action that adds nodes shows no deletion, and a warning says so once."""
    reply = check(request(action, policies, nodes(a=2), **more), 'ab')

    data = reply['action']['data']
    assert (data['status'], 'deletion' in data) == ('OK', False)
    assert reply['warnings'] == [
        f'The action adds {added} and removes none, so it ignores data.deletion: remove nodes by '
        'an action of their own'
    ]


@pytest.mark.parametrize('data', [VICTIM, {**VICTIM, 'creation': {'count': 0}}])
def test_deletion_in_a_shrinking_resize_is_kept(check, data):
    """A resize that creates no node keeps its decided victims, without this warning."""
    reply = check(request(RESIZE, OLDEST, nodes(a=2), data=data))

    assert (deleted(reply), reply['warnings']) == (['n1'], [])


REASON = 'The engine will refuse to leave fewer than min_size ({}) nodes.'
WARNING = "The action leaves {}, fewer than the cluster's min_size ({}): the engine must refuse it"
POLICIES = [region_policy('R1'), zone_policy('a'), deletion_policy('RANDOM')]


@pytest.fixture
def pool():
    """A worker, a load-balancing policy and three nodes with members."""
    lab = Lab(description={'zones': {'a': True}, 'regions': ['R1']})
    policy, members = lab.attached([connected(number) for number in (1, 2, 3)])
    return lab, policy, members


@pytest.mark.parametrize(
    ('action', 'more', 'size', 'remaining'),
    [
        (SCALE_IN, {}, 3, '2 nodes'),
        (SCALE_IN, {'inputs': {'candidates': ['n1']}}, 3, '2 nodes'),
        (SCALE_IN, {'data': {'deletion': {'count': 1, 'candidates': ['n2']}}}, 3, '2 nodes'),
        (DEL_NODES, {'inputs': {'candidates': ['n1']}}, 3, '2 nodes'),
        ('NODE_DELETE', {'node': connected(1)}, 3, '2 nodes'),
        # Named nodes count instead of the count of a scale-in.
        (SCALE_IN, {'inputs': {'count': 1, 'candidates': ['n1', 'n2']}}, 2, '1 node'),
    ],
)
def test_removal_below_min_size_is_skipped_by_all_policies(pool, action, more, size, remaining):
    """If load balancing keeps the members of a removal, no policy plans or chooses its victims."""
    lab, policy, members = pool

    reply = lab.check(request(action, [*POLICIES, policy], members, min_size=size, **more))

    data = {key: reply['action']['data'].get(key) for key in ('status', 'deletion')}
    assert data == {'status': 'OK', 'deletion': more.get('data', {}).get('deletion')}
    handled = [d for d in reply['decisions'] if 'does not handle' not in d['reason']]
    assert {(d['outcome'], d['reason']) for d in handled} == {('SKIPPED', REASON.format(size))}
    assert reply['warnings'] == [WARNING.format(remaining, size)]
    assert left(lab) == ['n1', 'n2', 'n3']


@pytest.mark.parametrize(
    ('protected', 'inputs', 'staying'),
    [
        # Fewer named nodes than the count of a scale-in leave, although the count would not.
        (0, {'count': 2, 'candidates': ['n1']}, ['n2', 'n3']),
        # Protected nodes stay, so they do not take the cluster below min_size.
        (2, {'count': 2}, ['n1', 'n2']),
    ],
    ids=['named', 'protected'],
)
def test_removal_down_to_min_size_is_applied_by_all_policies(pool, protected, inputs, staying):
    """The number of nodes that leave decides, and not the count that the action asks for."""
    lab, policy, members = pool
    mark = {'metadata': {'protected': 'true'}}
    members = [{**one, **mark} for one in members[:protected]] + members[protected:]
    asked = request(SCALE_IN, [*POLICIES[1:], policy], members, min_size=2, inputs=inputs)

    reply = lab.check(asked)

    assert {d['outcome'] for d in reply['decisions']} == {'APPLIED'}
    assert left(lab) == staying


@pytest.mark.parametrize('unused', ['absent', 'disabled', 'other profile'])
def test_removal_below_min_size_without_a_pool_has_victims_and_a_warning(pool, unused):
    """Without a consulted load-balancing policy the victims are chosen, with a warning."""
    lab, policy, members = pool
    bound = [] if unused == 'absent' else [{**policy, 'enabled': unused != 'disabled'}]
    asked = request(SCALE_IN, [*OLDEST, *bound], members, min_size=3)
    if unused == 'other profile':
        asked['cluster']['profile']['type'] = 'os.heat.stack-1.0'

    reply = lab.check(asked)

    assert (len(deleted(reply)), reply['warnings']) == (1, [WARNING.format('2 nodes', 3)])
