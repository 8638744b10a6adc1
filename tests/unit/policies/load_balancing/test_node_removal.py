"""Taking nodes out of a pool: which ones, as victims of an action, and down to health floors."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.model import CheckRequest
from placement_worker.policies.load_balancing.node_removal import HOOKS, UNDRAINED, floored
from tests.factories import (
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import (
    decision,
    ids_of,
    left,
    named,
    refusal,
    status,
    writes,
)

SCALE_IN, RESIZE, DELETE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE', 'CLUSTER_DEL_NODES'
REPLACE = 'CLUSTER_REPLACE_NODES'
NONE = 'No node is to be deleted.'
NO_MAP = 'Expected `object`, got `{}` - at `$.action.inputs.candidates` (old node id: new node id)'
STATUSES = ('ONLINE', 'OFFLINE', 'DEGRADED', 'ERROR', 'DRAINING', 'NO_MONITOR')
ONLINE = ('ONLINE', 'NO_MONITOR')


def change_by(number, **more):
    return {'inputs': {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': number, **more}}


def attached(min_online, *statuses, **more):
    """Return a lab, a policy with a floor, and one node per operating status."""
    lab = Lab(
        member_status={f'10.0.0.{number}': one for number, one in enumerate(statuses, start=1)},
        **more,
    )
    policy, members = lab.attached(
        [connected(number) for number in range(1, len(statuses) + 1)],
        version='1.4',
        min_online=min_online,
        health_monitor={},
    )
    lab.calls.clear()
    return lab, policy, members


def chosen(*node_ids, **more):
    """Return the action's data if an earlier policy chose these victims."""
    return {'deletion': {'count': len(node_ids), 'candidates': list(node_ids), **more}}


def of_deletion(reply):
    return reply['action']['data']['deletion']


@pytest.mark.parametrize(
    ('action', 'more', 'count'),
    [
        (SCALE_IN, {}, 1),
        (SCALE_IN, {'inputs': {'count': 3}}, 3),
        (SCALE_IN, {'inputs': {'count': 9}}, 4),
        (SCALE_IN, {'data': {'deletion': {'count': 2, 'mark': 'x'}}, 'inputs': {'count': 1}}, 2),
        (RESIZE, change_by(-2), 2),
        (RESIZE, {'data': {'deletion': {'count': 3}}, **change_by(-2)}, 3),
        (RESIZE, {'data': {'deletion': {'count': 1}}, 'min_size': 4}, 1),
    ],
)
def test_victims_are_chosen_and_stored_if_no_policy_chose_any(
    lab, four_members, action, more, count
):
    """If no policy chose victims, this one chooses and stores them; a resize ignores min_size."""
    policy, members = four_members

    reply = lab.check(request(action, [policy], members, **more))

    candidates = of_deletion(reply)['candidates']
    before = more.get('data', {}).get('deletion', {})
    assert of_deletion(reply) == {**before, 'count': count, 'candidates': candidates}
    assert len(set(candidates)) == count
    assert left(lab) == [one['id'] for one in members if one['id'] not in candidates]


def test_chosen_victims_equal_those_of_random_deletion(lab, four_members):
    """The chosen victims are those that the deletion policy chooses with RANDOM, and of a plan."""
    policy, members = four_members
    members[2]['status'] = 'ERROR'

    def chosen_by(policy, **more):
        asked = request(SCALE_IN, [policy], members, inputs={'count': 2}, **more)
        return of_deletion(lab.check(asked))['candidates']

    expected = chosen_by(deletion_policy('RANDOM'))
    assert expected[0] == 'n3'
    assert chosen_by(policy, dry_run=True) == chosen_by(policy) == expected


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (SCALE_IN, {'data': {'hooks': {'type': 'zaqar'}}}, HOOKS),
        (SCALE_IN, {'inputs': {'count': 0}}, NONE),
        (SCALE_IN, {'data': {'deletion': {'count': 0}}}, NONE),
        (RESIZE, change_by(2), NONE),
        (RESIZE, {'data': {'creation': {'count': 2}}}, NONE),
        (RESIZE,
         {'data': {'creation': {'count': 1}, 'deletion': {'count': 1, 'candidates': ['n1']}}},
         NONE),
        (DELETE, {}, NONE),
    ],
)  # fmt: skip
def test_check_without_victims_is_skipped_without_a_call(lab, four_members, action, more, reason):
    """An action that removes no node is skipped without a call to Octavia."""
    policy, members = four_members
    lab.calls.clear()

    reply = lab.check(request(action, [policy], members, **more))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == ('SKIPPED', reason)
    assert status(reply)[0] == 'OK'
    assert (reply['nodes'], lab.calls) == ({}, [])


@pytest.mark.parametrize(('number', 'rest'), [(-3, 2), (-1, 0)])
def test_resize_that_names_victims_removes_others_up_to_its_number(lab, four_members, number, rest):
    """The named nodes leave first, then others, up to the number that the resize removes."""
    policy, members = four_members
    asked = request(RESIZE, [policy], members, **change_by(number, candidates=['n3']))

    victims = lab.check(asked)['action']['data'].get('deletion', {}).get('candidates', ['n3'])

    assert (victims[0], len(victims) - 1) == ('n3', rest)
    assert left(lab) == sorted({'n1', 'n2', 'n3', 'n4'} - set(victims))


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (SCALE_IN, named('n1', 'n8', 'n9'), 'Not a member of cluster c1: n8, n9'),
        (SCALE_IN, {'data': chosen('n8')}, 'Not a member of cluster c1: n8'),
        (SCALE_IN, {'data': chosen('n1', 'n1')},
         'Expected each node once, got `n1` again - at `$.action.data.deletion.candidates[1]`'),
        (SCALE_IN, {'data': {'deletion': {'count': 1, 'zones': {'a': 2}}}},
         'Expected a plan for at most 1 node, got one for 2 - at `$.action.data.deletion`'),
        (SCALE_IN, {'data': chosen('n1', grace_period='long')},
         'Expected `int`, got `"long"` - at `$.action.data.deletion.grace_period`'),
        (REPLACE, named('n1'), NO_MAP.format('array')),
        (REPLACE, {}, NO_MAP.format('null')),
        ('NODE_DELETE', {'node': connected(9)}, 'Not a member of cluster c1: n9'),
        ('NODE_DELETE', {'node': connected(9), 'min_size': 4}, 'Not a member of cluster c1: n9'),
    ],
)  # fmt: skip
def test_invalid_request_is_refused_without_a_removal(lab, action, more, reason):
    """Invalid inputs and unknown nodes are refused, and no member is removed."""
    policy, members = lab.attached([connected(n) for n in range(1, 5)], version='1.4')

    reply = lab.check(request(action, [policy], members, **more))

    assert reply['action']['data'] == {**more.get('data', {}), 'status': 'ERROR', 'reason': reason}
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


@pytest.mark.parametrize(
    ('properties', 'change', 'minimums'),
    [
        ({'min_online': '50%'}, {}, ['50%']),
        ({'min_online': 0}, {}, [0]),
        ({}, {}, []),
        ({'version': '1.3'}, {}, []),
        ({'min_online': 2}, {'enabled': False}, []),
        ({'min_online': 2, 'version': 1.4}, {}, [2]),
        ({'min_online': 2, 'vip': {'subnet': 5}}, {}, [2]),
    ],
)
def test_floored_yields_enabled_policies_with_a_floor(properties, change, minimums):
    """Only enabled policies with `min_online` have a floor, in specs that Senlin would accept."""
    policy = load_balancing_policy(**{'version': '1.4', **properties}) | change
    check = msgspec.convert(request(SCALE_IN, [policy], []), CheckRequest)

    assert [properties.min_online for _, properties in floored(check)] == minimums


def test_member_that_is_being_deleted_does_not_count():
    """A member in PENDING_DELETE counts neither as a member nor as online."""
    lab, policy, members = attached(1, *['ONLINE'] * 3)
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        next(iter(pool.values()))['provisioning_status'] = 'PENDING_DELETE'

    details = decision(lab.check(request(SCALE_IN, [policy], members, dry_run=True)))['details']

    assert (details['members'], details['online']) == (2, 2)


def test_victims_are_trimmed_to_the_floor_with_a_warning():
    """Only as many victims leave as the floor allows; count, candidates and warning say so."""
    lab, policy, members = attached('60%', *['ONLINE'] * 4, 'ERROR')
    data = chosen('n1', 'n2', 'n3', grace_period=30, zones={'a': 3})

    reply = lab.check(request(SCALE_IN, [policy], members, data=data))

    pool = ids_of(policy)['pool']
    assert reply['action']['data'] == {
        'deletion': {'count': 1, 'candidates': ['n1'], 'grace_period': 30},
        'status': 'OK', 'reason': 'Completed policy checking.',
    }  # fmt: skip
    assert reply['warnings'] == [
        f'Only 1 of 3 nodes can leave pool {pool}: 3 of its 5 members must stay online '
        '(min_online 60%), and 4 are; spared: n2, n3'
    ]
    assert left(lab) == ['n2', 'n3', 'n4', 'n5']
    assert list(reply['nodes']) == ['n1']
    assert decision(reply)['details']['spared'] == [
        {'id': 'n2', 'reason': f'health floor of pool {pool}'},
        {'id': 'n3', 'reason': f'health floor of pool {pool}'},
    ]


@pytest.mark.parametrize('min_online', [3, '60%'])
def test_check_that_is_handled_again_spares_the_same_nodes(min_online):
    """A percentage is one of the members before the first removal, not of those that it left."""
    lab, policy, members = attached(min_online, *['ONLINE'] * 5)
    check = request(SCALE_IN, [policy], members, data=chosen('n1', 'n2', 'n3'))

    replies = [lab.check(check) for _ in range(2)]

    assert [of_deletion(reply)['candidates'] for reply in replies] == [['n1', 'n2']] * 2
    assert left(lab) == ['n3', 'n4', 'n5']


@pytest.mark.parametrize(
    ('min_online', 'statuses', 'victims', 'leaving'),
    [
        (9, ['ONLINE', 'ERROR', 'ONLINE', 'OFFLINE'], ['n1', 'n2', 'n3', 'n4'], ['n2', 'n4']),
        ('100%', ['ONLINE', 'ONLINE'], ['n1'], []),
    ],
    ids=['offline members leave whatever the floor is', 'none leaves'],
)
def test_floor_spares_only_victims_with_online_members(min_online, statuses, victims, leaving):
    """The check is OK, also if no victim can leave; then Octavia gets no write."""
    lab, policy, members = attached(min_online, *statuses)

    reply = lab.check(request(SCALE_IN, [policy], members, data=chosen(*victims)))

    assert status(reply)[0] == 'OK'
    assert of_deletion(reply) == {'count': len(leaving), 'candidates': leaving}
    assert list(reply['nodes']) == leaving
    assert bool(writes(lab)) == bool(leaving)
    assert reply['warnings'][-1].startswith(
        'Only 2 of 4' if leaving else 'None of 1 node can leave'
    )


def test_floor_with_hooks_trims_the_victims_without_removing_members():
    """With lifecycle hooks the engine removes the members, but the floor still applies."""
    lab, policy, members = attached(3, *['ONLINE'] * 4)
    data = {**chosen('n1', 'n2'), 'hooks': {'type': 'zaqar'}}

    reply = lab.check(request(SCALE_IN, [policy], members, data=data))

    assert of_deletion(reply)['candidates'] == ['n1']
    assert decision(reply)['outcome'] == 'SKIPPED'
    details = decision(reply)['details']
    assert [row['id'] for row in details.pop('spared')] == ['n2']
    assert details == {'members': 4, 'online': 4, 'required_online': 3}
    assert len(left(lab)) == 4


@pytest.mark.parametrize(
    ('action', 'more', 'asked', 'possible'),
    [
        (SCALE_IN, named('n1', 'n2'), 2, 1),
        (SCALE_IN, {**named('n1', 'n2'), 'data': chosen('n1', 'n2')}, 2, 1),
        (DELETE, {'inputs': {'candidates': ['n1', 'n3', 'n2']}}, 3, 2),
        (REPLACE, {'inputs': {'candidates': {'n1': 'n8', 'n2': 'n9'}}}, 2, 1),
    ],
)
def test_named_nodes_beyond_the_floor_are_refused_with_the_numbers(action, more, asked, possible):
    """Nodes that the action names leave together or not at all."""
    lab, policy, members = attached(2, 'ONLINE', 'ONLINE', 'ERROR', 'ONLINE')

    reply = lab.check(request(action, [policy], members, **more))

    pool = ids_of(policy)['pool']
    assert reply['action']['data'] == {
        **more.get('data', {}), 'status': 'ERROR',
        'reason': f'Only {possible} of {asked} nodes can leave pool {pool}: 2 of its 4 members '
        'must stay online, and 3 are; name fewer nodes, or wait until more members are online',
    }  # fmt: skip
    assert decision(reply)['details'] == {
        'pool': pool, 'members': 4, 'online': 3, 'required_online': 2,
    }  # fmt: skip
    assert (left(lab), reply['nodes']) == (['n1', 'n2', 'n3', 'n4'], {})


@pytest.mark.parametrize(
    ('action', 'first', 'more', 'grace_period', 'warns'),
    [
        (SCALE_IN, [], {}, 60, False),
        (SCALE_IN, [], {'data': {'deletion': {'count': 1, 'grace_period': 7}}}, 7, False),
        (SCALE_IN, [], {'data': {'deletion': {'count': 1, 'grace_period': 0}}}, 0, True),
        (SCALE_IN, [], {'data': chosen('n1', grace_period=0)}, 0, True),
        (SCALE_IN, [], {'data': chosen('n4')}, None, False),
        (SCALE_IN, [deletion_policy()], {}, 0, True),
        (SCALE_IN, [deletion_policy(grace_period=1)], {}, 1, False),
        (DELETE, [], named('n1', 'n2'), None, True),
        (REPLACE, [], {'inputs': {'candidates': {'n1': 'n9'}}}, None, False),
    ],
)
def test_deletion_without_a_grace_period_warns_once(action, first, more, grace_period, warns):
    """Connections get 60 s if this policy chooses victims; a deletion without time is a warning."""
    lab, policy, members = attached(None, *['ERROR'] * 3)
    asked = request(action, [*first, policy], [*members, connected(4)], **more)

    reply = lab.check(asked)

    assert reply['action']['data'].get('deletion', {}).get('grace_period') == grace_period
    assert (reply['warnings'], decision(reply)['details']['failed']) == ([UNDRAINED] * warns, {})
    assert 'online' not in decision(reply)['details']


def test_two_pools_cause_one_warning_of_connections():
    """Policies of several pools give one warning together."""
    lab, policy, members = attached(None, *['ONLINE'] * 3)
    other = second_pool(lab, members)

    reply = lab.check(request(SCALE_IN, [other, policy], members, data=chosen('n1')))

    assert (len(left(lab)), reply['warnings']) == (4, [UNDRAINED])


@pytest.mark.parametrize('version', ['1.0', '1.3'])
def test_earlier_versions_neither_add_a_grace_period_nor_warn(lab, version):
    """Versions of Senlin decide as before, whatever the grace period is."""
    policy, members = lab.attached([connected(n) for n in range(1, 4)], version=version)

    reply = lab.check(request(SCALE_IN, [policy], members))
    data = chosen('n1', grace_period='long')
    ignored = lab.check(request(SCALE_IN, [policy], members, data=data))

    assert 'grace_period' not in of_deletion(reply)
    assert (reply['warnings'], status(ignored)[0]) == ([], 'OK')


def second_pool(lab, members, **properties):
    """Attach another policy of version 1.4 to the same nodes, and return it."""
    policy = load_balancing_policy(version='1.4', health_monitor={}, **properties)
    policy |= {'id': 'pol-second', 'name': 'second'}
    return {**policy, 'data': lab.attach(bind(policy, members))['policy']['data']}


@pytest.mark.parametrize('version', ['1.3', '1.4'])
def test_floor_of_a_later_pool_is_applied_before_members_leave_an_earlier_one(lab, version):
    """A node that the floor of the second pool spares stays in the first pool too."""
    first, members = lab.attached([connected(n) for n in range(1, 5)], version=version)
    other = second_pool(lab, members, min_online=3)

    reply = lab.check(request(SCALE_IN, [first, other], members, data=chosen('n1', 'n2', 'n3')))

    assert of_deletion(reply) == {'count': 1, 'candidates': ['n1']}
    assert left(lab) == ['n2', 'n2', 'n3', 'n3', 'n4', 'n4']
    assert [one['outcome'] for one in reply['decisions']] == ['APPLIED', 'APPLIED']
    assert sum('can leave pool' in warning for warning in reply['warnings']) == 1


def test_operating_statuses_are_read_once_per_pool_and_check():
    """A plan lists each pool once, however many policies and floors there are."""
    lab, first, members = attached(1, *['ONLINE'] * 4)
    other = second_pool(lab, members, min_online=1)
    lab.calls.clear()

    lab.check(request(SCALE_IN, [first, other], members, dry_run=True))

    listed = [call.arguments[0] for call in lab.calls if call.name == 'members']
    assert len(listed) == len(set(listed)) == 2


def test_later_pool_that_cannot_be_read_fails_the_check_before_a_removal(lab):
    """A pool with a floor that Octavia does not show keeps all members in all pools."""
    first, members = lab.attached([connected(n) for n in range(1, 4)])
    other = second_pool(lab, members, min_online=1)
    lab.around = refusal('members', ids_of(other)['pool'])

    reply = lab.check(request(SCALE_IN, [first, other], members))

    assert status(reply)[0] == 'ERROR'
    assert 'Octavia responded with status 403' in status(reply)[1]
    assert len(left(lab)) == 6


def test_later_policy_without_a_pool_fails_the_check_without_blaming_nodes(lab):
    """If a policy with a floor was never attached, no member leaves and no node gets a status."""
    first, members = lab.attached([connected(n) for n in range(1, 4)])
    other = {**load_balancing_policy(version='1.4', min_online=1), 'id': 'pol-second'}

    reply = lab.check(request(SCALE_IN, [first, other], members))

    assert status(reply)[1] == (
        'The binding holds no load balancer: attach the policy before it is checked.'
    )
    assert (reply['nodes'], len(left(lab))) == ({}, 3)


@given(
    st.lists(st.sampled_from(STATUSES), min_size=1, max_size=7).flatmap(
        lambda statuses: st.tuples(
            st.just(statuses),
            st.permutations(range(1, len(statuses) + 1)).flatmap(
                lambda order: st.integers(1, len(order)).map(lambda count: order[:count])
            ),
        )
    ),
    st.integers(0, 8) | st.integers(0, 100).map(lambda percent: f'{percent}%'),
    st.booleans(),
)
def test_no_more_members_leave_than_the_floor_allows(cluster, min_online, chosen_before):
    """After a check the required members are online, or as many as before, for any statuses."""
    statuses, victims = cluster
    lab, policy, members = attached(min_online, *statuses)
    ids = [f'n{number}' for number in victims]
    more = {'data': chosen(*ids)} if chosen_before else {'inputs': {'count': len(ids)}}

    reply = lab.check(request(SCALE_IN, [policy], members, **more))

    before = sum(status in ONLINE for status in statuses)
    remaining = [int(node_id[1:]) for node_id in left(lab)]
    after = sum(statuses[number - 1] in ONLINE for number in remaining)
    required = min_online
    if isinstance(min_online, str):
        required = -(-int(min_online.rstrip('%')) * len(statuses) // 100)
    assert reply['action']['data']['status'] == 'OK'
    assert after >= min(required, before)
    deletion = of_deletion(reply)
    assert deletion['count'] == len(deletion['candidates']) == len(statuses) - len(remaining)
    assert not {f'n{number}' for number in remaining} & set(deletion['candidates'])


def test_trimmed_list_of_a_planned_deletion_leaves_the_zones_even():
    """A floor cuts the end of a list that goes in rounds over the zones."""
    zones = {'zones': dict.fromkeys('abc', True)}
    lab, policy, members = attached(9, *['ONLINE'] * 12, description=zones)
    for number, one in enumerate(members):
        one['data'] = {**one['data'], 'placement': {'zone': 'abc'[number // 4]}}
    policies = [zone_policy(*'abc'), deletion_policy(version='1.2'), policy]

    reply = lab.check(request(SCALE_IN, policies, members, inputs={'count': 6}))

    assert of_deletion(reply)['candidates'] == ['n1', 'n5', 'n9']
