"""Tests for taking nodes out of a pool with a health floor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.policies.load_balancing.node_removal import UNDRAINED
from tests.factories import (
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import decision, left

SCALE_IN, RESIZE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE'
STATUSES = ('ONLINE', 'OFFLINE', 'DEGRADED', 'ERROR', 'DRAINING', 'NO_MONITOR')
ONLINE = ('ONLINE', 'NO_MONITOR')


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


def test_victims_are_trimmed_to_the_floor_with_a_warning():
    """Only as many victims leave as the floor allows; count, candidates and warning say so."""
    lab, policy, members = attached('60%', *['ONLINE'] * 4, 'ERROR')
    data = chosen('n1', 'n2', 'n3', grace_period=30, zones={'a': 3})

    reply = lab.check(request(SCALE_IN, [policy], members, data=data))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
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


def test_victims_with_offline_members_leave_whatever_the_floor_is():
    """Removing an offline member leaves as many online, so such victims are never spared."""
    lab, policy, members = attached(9, 'ONLINE', 'ERROR', 'ONLINE', 'OFFLINE')

    reply = lab.check(request(SCALE_IN, [policy], members, data=chosen('n1', 'n2', 'n3', 'n4')))

    assert reply['action']['data']['deletion'] == {'count': 2, 'candidates': ['n2', 'n4']}
    assert left(lab) == ['n1', 'n3']


def test_floor_that_spares_all_victims_deletes_no_node():
    """If no victim can leave, the check is OK, no node is deleted, and Octavia gets no write."""
    lab, policy, members = attached('100%', 'ONLINE', 'ONLINE')

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 1}))

    data = reply['action']['data']
    assert data['status'] == 'OK'
    assert (data['deletion']['count'], data['deletion']['candidates']) == (0, [])
    assert reply['warnings'][0].startswith('None of 1 node can leave pool ')
    assert not [call for call in lab.calls if call.writes]
    assert reply['nodes'] == {}


def test_victims_chosen_here_are_trimmed_to_the_floor():
    """Victims that load balancing chooses itself are trimmed too."""
    lab, policy, members = attached(3, *['ONLINE'] * 4)

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 3}))

    deletion = reply['action']['data']['deletion']
    assert (deletion['count'], len(deletion['candidates']), len(left(lab))) == (1, 1, 3)


def test_victims_of_other_policies_are_trimmed_without_their_plan():
    """Counts by place that no longer hold are dropped with the spared victims."""
    lab = Lab(description={'zones': {'a': True, 'b': True}})
    policy, members = lab.attached(
        [connected(n, data={'placement': {'zone': 'ab'[n % 2]}}) for n in range(1, 5)],
        version='1.4', min_online=3, health_monitor={},
    )  # fmt: skip
    policies = [zone_policy('a', 'b'), deletion_policy(grace_period=9), policy]

    reply = lab.check(request(SCALE_IN, policies, members, inputs={'count': 2}))

    deletion = reply['action']['data']['deletion']
    assert (deletion['count'], deletion['grace_period'], 'zones' in deletion) == (1, 9, False)
    assert len(left(lab)) == 3


def test_floor_with_hooks_trims_the_victims_without_removing_members():
    """With lifecycle hooks the engine removes the members, but the floor still applies."""
    lab, policy, members = attached(3, *['ONLINE'] * 4)
    data = {**chosen('n1', 'n2'), 'hooks': {'type': 'zaqar'}}

    reply = lab.check(request(SCALE_IN, [policy], members, data=data))

    assert reply['action']['data']['deletion']['candidates'] == ['n1']
    assert decision(reply)['outcome'] == 'SKIPPED'
    details = decision(reply)['details']
    assert [row['id'] for row in details.pop('spared')] == ['n2']
    assert details == {'members': 4, 'online': 4, 'required_online': 3}
    assert len(left(lab)) == 4


@pytest.mark.parametrize(
    ('action', 'more', 'asked', 'possible'),
    [
        (SCALE_IN, {'inputs': {'candidates': ['n1', 'n2']}}, 2, 1),
        (SCALE_IN, {'inputs': {'candidates': ['n1', 'n2']}, 'data': chosen('n1', 'n2')}, 2, 1),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n3', 'n2']}}, 3, 2),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n8', 'n2': 'n9'}}}, 2, 1),
    ],
)
def test_named_nodes_beyond_the_floor_are_refused_with_the_numbers(action, more, asked, possible):
    """Nodes that the action names leave together or not at all."""
    lab, policy, members = attached(2, 'ONLINE', 'ONLINE', 'ERROR', 'ONLINE')

    reply = lab.check(request(action, [policy], members, **more))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
    assert reply['action']['data'] == {
        **more.get('data', {}), 'status': 'ERROR',
        'reason': f'Only {possible} of {asked} nodes can leave pool {pool}: 2 of its 4 members '
        'must stay online, and 3 are; name fewer nodes, or wait until more members are online',
    }  # fmt: skip
    assert decision(reply)['details'] == {
        'pool': pool, 'members': 4, 'online': 3, 'required_online': 2,
    }  # fmt: skip
    assert (left(lab), reply['nodes']) == (['n1', 'n2', 'n3', 'n4'], {})


def test_single_named_node_below_the_floor_is_refused():
    """NODE_DELETE of an online member at the floor is refused; that of an offline one is not."""
    lab, policy, members = attached(2, 'ONLINE', 'ONLINE', 'ERROR')

    refused = lab.check(request('NODE_DELETE', [policy], members, node=members[0]))
    accepted = lab.check(request('NODE_DELETE', [policy], members, node=members[2]))

    assert refused['action']['data']['reason'].startswith('None of 1 node can leave pool ')
    assert accepted['action']['data']['status'] == 'OK'
    assert left(lab) == ['n1', 'n2']


def test_check_without_min_online_ignores_operating_statuses():
    """Version 1.4 without `min_online` removes any member, as earlier versions do."""
    lab, policy, members = attached(None, *['ERROR'] * 3)

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 2}))

    assert len(left(lab)) == 1
    assert 'online' not in decision(reply)['details']


def test_dry_run_shows_the_trimmed_victims_without_a_write():
    """A plan trims the victims as the check does, and writes nothing."""
    lab, policy, members = attached(3, *['ONLINE'] * 4)

    planned = lab.check(request(SCALE_IN, [policy], members, data=chosen('n1', 'n2'), dry_run=True))

    assert planned['action']['data']['deletion']['candidates'] == ['n1']
    assert decision(planned)['details']['removed'] == ['n1']
    assert len(left(lab)) == 4


def draining(policy, members, action=SCALE_IN, *, first=(), **more):
    """Return the request for a check with this policy after others."""
    return request(action, [*first, policy], members, **more)


def test_deletion_chosen_here_has_a_grace_period():
    """The engine waits 60 s if this policy chooses the victims, and no warning is needed."""
    lab, policy, members = attached(None, *['ONLINE'] * 3)

    reply = lab.check(draining(policy, members))

    assert reply['action']['data']['deletion']['grace_period'] == 60
    assert reply['warnings'] == []


@pytest.mark.parametrize('grace_period', [0, 7])
def test_grace_period_that_is_decided_already_is_kept(grace_period):
    """A grace period in the action's data precedes the default of this policy."""
    lab, policy, members = attached(None, *['ONLINE'] * 3)
    data = {'deletion': {'count': 1, 'grace_period': grace_period}}

    reply = lab.check(draining(policy, members, data=data))

    assert reply['action']['data']['deletion']['grace_period'] == grace_period
    assert bool(reply['warnings']) == (not grace_period)


@pytest.mark.parametrize(
    ('action', 'more', 'warns'),
    [
        (SCALE_IN, {'first': [deletion_policy()]}, True),
        (SCALE_IN, {'first': [deletion_policy(grace_period=1)]}, False),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n2']}}, True),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, False),
        (SCALE_IN, {'data': chosen('n1', grace_period=0)}, True),
    ],
)
def test_deletion_without_a_grace_period_warns_once(action, more, warns):
    """One sentence says that connections break, unless the engine replaces the nodes."""
    lab, policy, members = attached(None, *['ONLINE'] * 3)

    reply = lab.check(draining(policy, members, action, **more))

    assert reply['warnings'] == [UNDRAINED] * warns


def test_victims_without_a_member_cause_no_warning_of_connections():
    """If no member leaves the pool, no connection of the pool can break."""
    lab, policy, members = attached(None, *['ONLINE'] * 2)

    reply = lab.check(draining(policy, [*members, connected(3)], data=chosen('n3')))

    assert reply['warnings'] == []


def test_two_pools_cause_one_warning_of_connections():
    """Policies of several pools give one warning together."""
    lab, policy, members = attached(None, *['ONLINE'] * 3)
    other = {**load_balancing_policy(version='1.4'), 'id': 'pol-second'}
    stored = lab.attach(bind(other, members))['policy']['data']

    reply = lab.check(
        draining(policy, members, first=[{**other, 'data': stored}], data=chosen('n1'))
    )

    assert len(left(lab)) == 4
    assert reply['warnings'] == [UNDRAINED]


def test_trimmed_deletion_chosen_here_keeps_its_grace_period():
    """Sparing victims drops neither the grace period nor the warning about the floor."""
    lab, policy, members = attached(2, *['ONLINE'] * 3)

    reply = lab.check(draining(policy, members, inputs={'count': 2}))

    assert reply['action']['data']['deletion']['grace_period'] == 60
    assert len(reply['warnings']) == 1


def test_invalid_grace_period_is_refused_before_a_removal():
    """A grace period that is no number of seconds is an error, and no member leaves."""
    lab, policy, members = attached(None, *['ONLINE'] * 2)

    reply = lab.check(draining(policy, members, data=chosen('n1', grace_period='long')))

    assert reply['action']['data']['reason'] == (
        'Expected `int`, got `"long"` - at `$.action.data.deletion.grace_period`'
    )
    assert len(left(lab)) == 2


@pytest.mark.parametrize('version', ['1.0', '1.1', '1.2', '1.3'])
def test_earlier_versions_neither_add_a_grace_period_nor_warn(lab, version):
    """Versions of Senlin decide as before, whatever the grace period is."""
    policy, members = lab.attached([connected(n) for n in range(1, 4)], version=version)

    reply = lab.check(draining(policy, members))
    ignored = lab.check(draining(policy, members, data=chosen('n1', grace_period='long')))

    assert 'grace_period' not in reply['action']['data']['deletion']
    assert (reply['warnings'], ignored['action']['data']['status']) == ([], 'OK')


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
    deletion = reply['action']['data']['deletion']
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

    assert reply['action']['data']['deletion']['candidates'] == ['n1', 'n5', 'n9']
