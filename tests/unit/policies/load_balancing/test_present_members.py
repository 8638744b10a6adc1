"""Tests for adding nodes whose members, or others at their addresses, are present already."""

import pytest

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import Node
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.member_change import MemberAddition
from tests.factories import NOW, connected
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import after, created, decision, member_ids

SCALE_OUT = 'CLUSTER_SCALE_OUT'


def test_node_whose_member_is_gone_gets_a_new_member(lab, scaled_out):
    """A node whose stored member no longer exists gets a new one."""
    policy, members = scaled_out
    members[0]['data']['lb_member'] = 'long-gone'
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        del pool[next(iter(pool))]

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


def test_node_without_stored_member_adopts_the_tagged_one(lab, scaled_out):
    """A node whose data names no member adopts the one with its tag."""
    policy, members = scaled_out
    without_data = [{**one, 'data': {'x': 1}} for one in members]
    before = member_ids(lab)
    lab.calls.clear()

    reply = lab.check(after(SCALE_OUT, [policy], without_data, data=created('n1', 'n2')))

    assert reply['nodes'] == {
        name: {'data': {'x': 1, 'lb_member': id_}} for name, id_ in before.items()
    }
    assert not any(call.writes for call in lab.calls)


def test_foreign_member_at_the_address_is_neither_added_nor_adopted(lab):
    """If the pool already has a foreign member at that address, the policy neither adds nor
    adopts it.
    """
    lb, pool = lab.foreign('10.0.0.1')
    policy, _ = lab.attached([], loadbalancer=lb, pool={'id': pool})
    before = lab.settled()

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1)], data=created('n1')))

    assert decision(reply)['reason'] == '1 in the pool already'
    assert reply['nodes'] == {}
    assert lab.settled() == before


def test_member_that_is_being_deleted_does_not_count_as_present(lab, scaled_out):
    """A member that is being deleted does not count as present: a new node gets its own."""
    policy, members = scaled_out
    ids = member_ids(lab)
    lab.octavia(None).delete_member(
        policy['data']['LoadBalancingPolicy']['data']['pool'], ids['n1']
    )
    reusing = {**connected(1), 'id': 'n9', 'name': 'n9'}

    reply = lab.check(after(SCALE_OUT, [policy], [*members[1:], reusing], data=created('n9')))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_ids(lab)['n9']}}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_member_in_error_is_updated_again(lab, scaled_out):
    """A member of the policy that is not ACTIVE is sent to Octavia again."""
    policy, members = scaled_out
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        next(iter(pool.values()))['provisioning_status'] = 'ERROR'
    members[0]['data'] = {}

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert decision(reply)['reason'] == '1 added'
    assert {member['provisioning_status'] for member in lab.settled()['member']} == {'ACTIVE'}


@pytest.mark.parametrize('batch_members', [True, False])
def test_second_node_with_the_same_address_fails(batch_members):
    """Of two nodes with the same address the second one fails."""
    lab = Lab(batch_members=batch_members)
    policy, _ = lab.attached([])
    twin = {**connected(1), 'id': 'n2'}

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1), twin], data=created('n1', 'n2')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n2'] (n2: Node n1 has the same address)"
    )
    assert decision(reply)['details']['failed'] == {'n2': 'Node n1 has the same address'}
    assert lab.addresses() == ['10.0.0.1']


class Id(str):
    """An id that counts how often it is compared with others."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Id.compared += 1
        return str.__eq__(self, other)


def test_run_with_all_members_present_takes_linear_time():
    """Each node is compared with a constant number of others if all are members already."""
    count = 500
    lab = Lab()
    _, pool_id = lab.foreign(*(f'10.0.{number // 250}.{number % 250}' for number in range(count)))
    shown = lab.octavia(None).members(pool_id)
    nodes = [
        Node(id=Id(f'n{number}'), data={'lb_member': one['id']}) for number, one in enumerate(shown)
    ]
    state = State(ActionData({}), None, count, NOW)
    updater = Updater(lab.octavia(None), OctaviaSettings(), TimeBudget(60, lab.clock), '')

    pool = Pool(updater, 'lb', pool_id, ['x'])
    outcome = MemberAddition(state, nodes).run(pool, lambda nodes: ([], {}))

    assert outcome.reason == f'{count} in the pool already'
    assert Id.compared < 10 * count
