"""Drift of a pool: attaching again repairs it, and dry runs warn of a check that would fail."""

import pytest

from tests.factories import bind, connected, node, request
from tests.simulated_octavia import KINDS, REGION, Lab, patched
from tests.unit.policies.load_balancing.building_blocks import (
    after,
    created,
    decision,
    ids_of,
    member_ids,
    status,
    writes,
)


def attached_again(lab, policy, members):
    """Attach an attached policy again; the cluster's data name it."""
    reply = lab.attach(bind(policy, members, data={'loadbalancers': {policy['id']: {}}}))
    assert reply['status'] == 'OK', reply['reason']
    return reply


def test_attaching_again_adds_and_removes_members_and_says_so(lab):
    """Attaching again adds missing members and removes those of nodes that are gone, in two
    updates.
    """
    policy, members = lab.attached([connected(number) for number in range(1, 7)])
    pool = ids_of(policy)['pool']
    lab.octavia(None).delete_member(pool, member_ids(lab)['n1'])
    lab.clock.sleep(5)
    lab.calls.clear()

    reply = attached_again(lab, policy, [*members[:3], connected(9)])

    assert lab.addresses() == ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.9']
    assert reply['warnings'] == [
        f'Attaching again repaired pool {pool} (added: n1, n9; removed: n4, n5, n6)'
    ]
    assert writes(lab) == ['update_members', 'update_members']
    nodes = patched([*members[:3], connected(9)], reply)
    ids = member_ids(lab)
    assert {one['id']: one['data'] for one in nodes} == {
        name: {'lb_member': ids[name]} for name in ('n1', 'n2', 'n3', 'n9')
    }


def test_attaching_again_repairs_an_existing_pool_and_keeps_foreign_members(lab):
    """In a preexisting pool, members of others stay, and the policy's own are repaired."""
    policy, members = lab.attached([connected(1), connected(2)], **lab.existing('10.0.0.100'))
    pool = ids_of(policy)['pool']

    reply = attached_again(lab, policy, [members[1], connected(3)])

    assert lab.addresses() == ['10.0.0.100', '10.0.0.2', '10.0.0.3']
    assert reply['warnings'] == [f'Attaching again repaired pool {pool} (added: n3; removed: n1)']


def test_attaching_again_without_drift_changes_nothing(lab):
    """Without drift, attaching again writes nothing and has no warning."""
    policy, members = lab.attached([connected(1)], health_monitor={})
    lab.calls.clear()

    reply = attached_again(lab, policy, members)

    assert (reply['warnings'], reply['nodes'], writes(lab)) == ([], {}, [])


def test_attaching_again_repairs_the_others_of_a_node_without_address(lab):
    """A node without an address fails the reply, and keeps no other node from its repair."""
    policy, members = lab.attached([connected(1), connected(2)])
    lab.octavia(None).delete_member(ids_of(policy)['pool'], member_ids(lab)['n1'])
    lab.clock.sleep(5)
    members = [members[0], node(3)]

    reply = lab.attach(bind(policy, members))

    assert reply['status'] == 'ERROR'
    assert reply['reason'].startswith("Failed in adding nodes into lb pool: ['n3'] (n3: ")
    assert reply['policy']['data'] == policy['data']
    assert lab.addresses() == ['10.0.0.1']
    assert reply['nodes']['n1']['data'] == {'lb_member': member_ids(lab)['n1']}
    assert reply['nodes']['n3']['status'] == 'WARNING'


@pytest.mark.parametrize('kind', ['healthmonitor', 'loadbalancer'])
def test_attaching_again_creates_missing_parts_and_names_them(lab, kind):
    """A deleted health monitor or load balancer is created again."""
    policy, members = lab.attached([connected(1)], health_monitor={})
    before = ids_of(policy)
    lab.octavia(None).delete(kind, before[kind], cascade=True)
    lab.clock.sleep(5)

    reply = attached_again(lab, policy, members)

    new = ids_of(reply['policy'])
    again = [part for part in KINDS if new[part] != before[part]]
    assert again == (list(KINDS) if kind == 'loadbalancer' else [kind])
    assert f'(created again: {", ".join(again)}' in reply['warnings'][0]
    assert lab.addresses() == ['10.0.0.1']
    assert reply['nodes'].get('n1', members[0])['data'] == {'lb_member': member_ids(lab)['n1']}


@pytest.mark.parametrize(
    ('provisioning_status', 'warned'),
    [('ERROR', ' is in ERROR: the check would fail'), ('PENDING_UPDATE', None), ('ACTIVE', None)],
)
@pytest.mark.parametrize('phase', ['BEFORE', 'AFTER'])
def test_dry_run_warns_of_a_load_balancer_in_error(provisioning_status, warned, phase):
    """A dry run reads the load balancer's status once, and warns if the check would fail."""
    lab = Lab()
    policy, members = lab.attached([connected(1), connected(2)])
    lb_id = ids_of(policy)['loadbalancer']
    with lab.store.changing() as state:
        state[REGION]['loadbalancer'][lb_id]['provisioning_status'] = provisioning_status
    lab.calls.clear()
    if phase == 'BEFORE':
        asked = request('CLUSTER_SCALE_IN', [policy], members)
    else:
        new = [*members, connected(3)]
        asked = after('CLUSTER_SCALE_OUT', [policy], new, data=created('n3'))

    reply = lab.check({**asked, 'dry_run': True})

    assert status(reply)[0] == 'OK'
    assert reply['warnings'] == ([f'Load balancer {lb_id}{warned}'] if warned else [])
    assert [str(call) for call in lab.calls] == ['members', 'show loadbalancer']


@pytest.mark.parametrize('has_monitor', [True, False])
def test_floor_without_its_health_monitor_is_a_warning(lab, has_monitor):
    """A floor counts members of unknown status as online, so a lost health monitor is a warning."""
    policy, members = lab.attached(
        [connected(1), connected(2)], version='1.4', min_online=1, health_monitor={}
    )
    if not has_monitor:
        lab.octavia(None).delete('healthmonitor', ids_of(policy)['healthmonitor'])
        lab.clock.sleep(5)

    data = {'deletion': {'candidates': ['n1'], 'grace_period': 60}}
    reply = lab.check(request('CLUSTER_SCALE_IN', [policy], members, data=data))

    assert decision(reply)['details']['online'] == 2
    assert [text.partition(',')[0] for text in reply['warnings']] == (
        [] if has_monitor else [f'Pool {ids_of(policy)["pool"]} has no health monitor']
    )
