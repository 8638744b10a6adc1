"""Tests for the nodes whose members are removed: the victims of an action."""

import pytest

from tests.factories import connected, deletion_policy, node, request, zone_policy
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import decision, left

SCALE_IN, RESIZE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}
SHRINK = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -2}


@pytest.mark.parametrize(
    ('action', 'more', 'count'),
    [
        (SCALE_IN, {}, 1),
        (SCALE_IN, {'inputs': {'count': 3}}, 3),
        (SCALE_IN, {'inputs': {'count': 9}}, 4),
        (SCALE_IN, {'data': {'deletion': {'count': 2, 'mark': 'x'}}, 'inputs': {'count': 1}}, 2),
        (RESIZE, {'inputs': SHRINK}, 2),
        (RESIZE, {'data': {'deletion': {'count': 3}}, 'inputs': SHRINK}, 3),
    ],
)
def test_victims_are_chosen_and_stored_if_no_policy_chose_any(
    lab, four_members, action, more, count
):
    """If no policy chose victims, this one chooses them and stores them in the action's data."""
    policy, members = four_members

    reply = lab.check(request(action, [policy], members, **more))

    deletion = reply['action']['data']['deletion']
    assert deletion == {
        **more.get('data', {}).get('deletion', {}), 'count': count,
        'candidates': deletion['candidates'],
    }  # fmt: skip
    assert len(set(deletion['candidates'])) == count
    assert left(lab) == [one['id'] for one in members if one['id'] not in deletion['candidates']]


def test_chosen_victims_equal_those_of_random_deletion(lab, four_members):
    """The chosen victims are those that the deletion policy chooses with RANDOM."""
    policy, members = four_members
    members[2]['status'] = 'ERROR'
    asked = {'inputs': {'count': 2}, 'dry_run': True}

    ours = lab.check(request(SCALE_IN, [policy], members, **asked))
    expected = lab.check(request(SCALE_IN, [deletion_policy('RANDOM')], members, **asked))

    assert (
        ours['action']['data']['deletion']['candidates']
        == expected['action']['data']['deletion']['candidates']
    )
    assert ours['action']['data']['deletion']['candidates'][0] == 'n3'


def test_chosen_victims_follow_a_plan_by_zones(lab):
    """Victims are chosen in the zones that an earlier policy planned."""
    lab = Lab(description={'zones': {'a': True, 'b': True}})
    placed = [
        connected(n, data={'placement': {'zone': zone}}) for n, zone in enumerate('aaab', start=1)
    ]
    policy, members = lab.attached(placed)

    reply = lab.check(
        request(SCALE_IN, [zone_policy('a', 'b'), policy], members, inputs={'count': 2})
    )

    deletion = reply['action']['data']['deletion']
    assert deletion['zones'] == {'a': 2}
    assert set(deletion['candidates']) < {'n1', 'n2', 'n3'}
    assert left(lab) == sorted({'n1', 'n2', 'n3', 'n4'} - set(deletion['candidates']))


def test_chosen_victims_follow_a_plan_by_regions(lab, four_members):
    """Victims are chosen in the regions that an earlier policy planned, even without members."""
    policy, members = four_members
    members = [*members, node(5, region='R2'), node(6, region='R2')]
    data = {'deletion': {'count': 2, 'regions': {'R2': 2}}}

    reply = lab.check(request(SCALE_IN, [policy], members, data=data))

    assert sorted(reply['action']['data']['deletion']['candidates']) == ['n5', 'n6']
    assert (
        decision(reply)['details']['passed_over']
        == reply['action']['data']['deletion']['candidates']
    )
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


def test_members_of_the_victims_of_deletion_are_removed(lab, four_members):
    """The members of the victims that the deletion policy chose are removed."""
    policy, members = four_members

    reply = lab.check(request(SCALE_IN, [policy, deletion_policy()], members, inputs={'count': 2}))

    assert reply['action']['data']['deletion']['candidates'] == ['n1', 'n2']
    assert left(lab) == ['n3', 'n4']
    assert reply['action']['data']['reason'] == 'Candidates generated'


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (
            SCALE_IN,
            {'data': {'hooks': HOOKS}},
            'The engine takes the nodes out of the pool after its lifecycle hooks.',
        ),
        (SCALE_IN, {'inputs': {'count': 0}}, 'No node is to be deleted.'),
        (SCALE_IN, {'data': {'deletion': {'count': 0}}}, 'No node is to be deleted.'),
        (
            RESIZE,
            {'inputs': {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 2}},
            'No node is to be deleted.',
        ),
        (RESIZE, {'data': {'creation': {'count': 2}}}, 'No node is to be deleted.'),
        ('CLUSTER_DEL_NODES', {}, 'No node is to be deleted.'),
        (
            SCALE_IN,
            {'min_size': 4},
            'The engine will refuse to leave fewer than min_size (4) nodes.',
        ),
        (
            SCALE_IN,
            {'min_size': 3, 'inputs': {'count': 2}},
            'The engine will refuse to leave fewer than min_size (3) nodes.',
        ),
        (
            'CLUSTER_DEL_NODES',
            {'min_size': 4, 'inputs': {'candidates': ['n1']}},
            'The engine will refuse to leave fewer than min_size (4) nodes.',
        ),
        (
            'NODE_DELETE',
            {'min_size': 4, 'node': connected(1)},
            'The engine will refuse to leave fewer than min_size (4) nodes.',
        ),
    ],
)
def test_check_without_victims_is_skipped_without_a_call(lab, four_members, action, more, reason):
    """An action that removes no node is skipped without a call to Octavia."""
    policy, members = four_members
    lab.calls.clear()

    reply = lab.check(request(action, [policy], members, **more))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == ('SKIPPED', reason)
    assert reply['action']['data']['status'] == 'OK'
    assert (reply['nodes'], lab.calls) == ({}, [])


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        (SCALE_IN, {'min_size': 3}),
        (RESIZE, {'min_size': 4, 'data': {'deletion': {'count': 1}}}),
        ('CLUSTER_REPLACE_NODES', {'min_size': 4, 'inputs': {'candidates': {'n1': 'n9'}}}),
    ],
)
def test_removal_down_to_min_size_is_applied(lab, four_members, action, more):
    """A removal may reach min_size; replacing and resizing may go below it."""
    policy, members = four_members

    assert decision(lab.check(request(action, [policy], members, **more)))['outcome'] == 'APPLIED'
    assert len(left(lab)) == 3


def test_growing_resize_removes_no_member(lab, four_members):
    """A resize that adds nodes takes no node out of the pool, whatever victims are decided."""
    policy, members = four_members
    data = {'creation': {'count': 1}, 'deletion': {'count': 1, 'candidates': ['n1']}}

    reply = lab.check(request(RESIZE, [policy], members, data=data))

    assert (decision(reply)['outcome'], left(lab)) == ('SKIPPED', ['n1', 'n2', 'n3', 'n4'])


def test_resize_that_names_some_of_its_victims_removes_the_others_at_random(lab, four_members):
    """The named nodes leave first, then others, up to the number that the resize removes."""
    policy, members = four_members
    inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -3, 'candidates': ['n3']}

    reply = lab.check(request(RESIZE, [policy], members, inputs=inputs))

    victims = reply['action']['data']['deletion']['candidates']
    assert (victims[0], len(victims), len(left(lab))) == ('n3', 3, 1)
    assert left(lab) == sorted({'n1', 'n2', 'n3', 'n4'} - set(victims))


@pytest.mark.parametrize(
    ('more', 'reason'),
    [
        ({'inputs': {'candidates': ['n1', 'n8', 'n9']}}, 'Not a member of cluster c1: n8, n9'),
        ({'data': {'deletion': {'candidates': ['n8']}}}, 'Not a member of cluster c1: n8'),
        (
            {'data': {'deletion': {'candidates': 'n1'}}},
            'Expected `array`, got `"n1"` - at `$.action.data.deletion.candidates`',
        ),
        (
            {'data': {'deletion': {'candidates': ['n1', 'n1']}}},
            'Expected each node once, got `n1` again - at `$.action.data.deletion.candidates[1]`',
        ),
        ({'inputs': {'count': -1}}, 'Expected `int` >= 0, got `-1` - at `$.action.inputs.count`'),
        (
            {'data': {'deletion': {'count': 1, 'zones': {'a': 2}}}},
            'Expected a plan for at most 1 node, got one for 2 - at `$.action.data.deletion`',
        ),
    ],
)
def test_invalid_inputs_are_refused_without_a_removal(lab, four_members, more, reason):
    """Invalid inputs are refused with their path, and no member is removed."""
    policy, members = four_members

    reply = lab.check(request(SCALE_IN, [policy], members, **more))

    assert reply['action']['data'] == {**more.get('data', {}), 'status': 'ERROR', 'reason': reason}
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': ['n1']}},
            'Expected `object`, got `array` - at `$.action.inputs.candidates` (old node id: new '
            'node id)',
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {},
            'Expected `object`, got `null` - at `$.action.inputs.candidates` (old node id: new '
            'node id)',
        ),
        ('NODE_DELETE', {'node': connected(9)}, 'Not a member of cluster c1: n9'),
        ('NODE_DELETE', {'node': connected(9), 'min_size': 4}, 'Not a member of cluster c1: n9'),
    ],
)
def test_unknown_nodes_are_refused_without_a_removal(lab, four_members, action, more, reason):
    """A replacement without a map and a NODE_DELETE of an unknown node remove no member."""
    policy, members = four_members

    reply = lab.check(request(action, [policy], members, **more))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        reason,
    )
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']
