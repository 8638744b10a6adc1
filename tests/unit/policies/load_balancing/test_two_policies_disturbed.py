"""Every operation with two policies on one cluster: alone, by a killed worker, by two workers."""

from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories import connected
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import Killed, Refusal, created, recreated
from tests.unit.policies.load_balancing.test_concurrent_copies import (
    CALL_S,
    DIFFERENT_NODES,
    ORDERS,
    PENDING_S,
    create_and_delete,
    lab_of,
)
from tests.unit.policies.load_balancing.test_faults import Killer
from tests.unit.policies.load_balancing.test_two_policies import TwoPolicies


def leaving(*node_ids):
    """Return the parts of a scenario in which earlier policies chose these victims."""
    deletion = {'count': len(node_ids), 'candidates': list(node_ids)}
    return {'leaving': node_ids, 'data': {'deletion': deletion}}


REPLACED = {'inputs': {'candidates': {'n1': 'n5', 'n2': 'n6'}}}
RECOVERED = {'after': 'NODE_RECOVER', 'node': 'n1'}
GROWN = {'new': {5: 5, 6: 6}, 'data': created('n5', 'n6')}
SHRUNK = {'inputs': {'adjustment_type': 'EXACT_CAPACITY', 'number': 2}}
# detached: a policy, in advance; lost_in: the policy in whose pool n1 has lost its member; new: new
# nodes -> numbers of their addresses; gone: nodes that were deleted, but are still in the pools;
# recreated: the number of the address of n1's new server; attach, detach: a policy; before, after:
# an action, with its node, data and inputs; leaving: the nodes that it deletes.
SCENARIOS = {
    'attach_first': {'detached': 'a', 'attach': 'a'},
    'attach_second': {'detached': 'b', 'attach': 'b'},
    'attach_again': {'lost_in': 'a', 'attach': 'a'},
    'detach_first': {'detach': 'a'},
    'detach_second': {'detach': 'b'},
    'detach_last': {'detached': 'a', 'detach': 'b'},
    'scale_out': {**GROWN, 'after': 'CLUSTER_SCALE_OUT'},
    'add_nodes': {'new': {5: 5}, 'after': 'CLUSTER_ADD_NODES', 'data': created('n5')},
    'grow': {**GROWN, 'after': 'CLUSTER_RESIZE'},
    'create_node': {'new': {5: 5}, 'after': 'NODE_CREATE', 'node': 'n5'},
    'scale_in': {'before': 'CLUSTER_SCALE_IN', **leaving('n1', 'n2')},
    'delete_nodes': {
        'before': 'CLUSTER_DEL_NODES', 'inputs': {'candidates': ['n3']}, 'leaving': ('n3',),
    },
    'shrink': {'before': 'CLUSTER_RESIZE', **leaving('n1', 'n4'), **SHRUNK},
    'delete_node': {'before': 'NODE_DELETE', 'node': 'n2', 'leaving': ('n2',)},
    'replace_before': {'before': 'CLUSTER_REPLACE_NODES', **REPLACED, 'leaving': ('n1', 'n2')},
    'replace_after': {'new': {5: 5, 6: 6}, 'after': 'CLUSTER_REPLACE_NODES', **REPLACED},
    'replace_at_reused_addresses': {
        'gone': 2, 'new': {5: 1, 6: 2}, 'after': 'CLUSTER_REPLACE_NODES', **REPLACED,
    },
    'recover_recreated': {'recreated': 9, **RECOVERED},
    'recover_recreated_at_its_address': {'recreated': 1, **RECOVERED},
    'recover_recreated_half': {'lost_in': 'b', 'recreated': 9, **RECOVERED},
    'recover_untouched': RECOVERED,
    'recover_lost_in_first': {'lost_in': 'a', **RECOVERED},
    'recover_lost_in_second': {'lost_in': 'b', **RECOVERED},
}  # fmt: skip


class Scenario:
    """An operation on a cluster of four nodes with two policies.

    :ivar send: handles a copy of one request.
    """

    def __init__(self, lab, name, *, preexisting):
        self.two = two = TwoPolicies(lab, range(1, 5), preexisting=preexisting)
        self.parts = parts = SCENARIOS[name]
        if 'detached' in parts:
            two.detach(parts['detached'])
        if 'lost_in' in parts:
            two.lose(parts['lost_in'], 'n1')
        del two.members[: parts.get('gone', 0)]
        for number, address in parts.get('new', {}).items():
            two.members.append({**connected(number), 'details': connected(address)['details']})
        if 'recreated' in parts:
            two.members[0] = recreated(two.members[0], parts['recreated'])
        self.send = self.requested()
        lab.calls.clear()

    def requested(self):
        """Return a function that handles a copy of one request about the present cluster."""
        two, parts = self.two, self.parts
        for method in ('attach', 'detach'):
            if method in parts:
                return partial(getattr(two.lab, method), two.binding(parts[method]))
        more = {key: parts[key] for key in ('data', 'inputs') if key in parts}
        nodes = {one['id']: one for one in two.members}
        phase = 'before' if 'before' in parts else 'after'
        asked = two.checked(
            parts[phase], target=phase.upper(), node=nodes.get(parts.get('node')), **more
        )
        return partial(two.lab.check, asked)

    def is_right(self, reply):
        """Check the state after a reply that the engine stores."""
        before = self.two.members, self.two.policies, self.two.cluster_data
        self.two.stored(reply)
        gone = self.parts.get('leaving', ())
        data = {one['id']: one['data'] for one in self.two.members}
        self.two.members = [one for one in self.two.members if one['id'] not in gone]
        assert all(data[node_id] == {} for node_id in gone), data
        assert self.two.is_right(), (self.two.pools(), data)
        self.two.members, self.two.policies, self.two.cluster_data = before


scenarios = pytest.mark.parametrize('name', SCENARIOS)
pools = pytest.mark.parametrize(
    ('batch', 'preexisting'),
    [(True, False), (False, False), (True, True), (False, True)],
    ids=['batch', 'single', 'batch-preexisting', 'single-preexisting'],
)


def is_ok(reply):
    return (reply.get('status') or reply['action']['data']['status']) == 'OK'


def assert_right(scenario, reply, disturbance):
    try:
        assert is_ok(reply), reply
        scenario.is_right(reply)
    except AssertionError as exc:
        exc.add_note(disturbance)
        raise


@cache
def calls_of(name, batch, preexisting):
    """Return the calls of an undisturbed run, and check its result."""
    scenario = Scenario(Lab(batch_members=batch), name, preexisting=preexisting)
    reply = scenario.send()
    assert is_ok(reply), reply
    scenario.is_right(reply)
    return list(scenario.two.lab.calls)


@scenarios
@pools
def test_both_pools_follow_an_operation(name, batch, preexisting):
    """After each operation, both pools and the data of all nodes are right; with batches, its
    updates do not depend on the number of nodes.
    """
    calls_of(name, batch, preexisting)


@scenarios
@pools
@pytest.mark.parametrize('after', [False, True], ids=['before its effect', 'after its effect'])
def test_operation_of_a_killed_worker_completes_when_redelivered(name, batch, preexisting, after):
    """A worker killed at any call leaves nothing that another worker does not put right."""
    for step, call in enumerate(calls_of(name, batch, preexisting)):
        scenario = Scenario(Lab(batch_members=batch), name, preexisting=preexisting)
        scenario.two.lab.around = Killer(step, after=after)
        with pytest.raises(Killed):
            scenario.send()
        scenario.two.lab.around = lambda call: call.act()

        reply = scenario.send()

        assert_right(scenario, reply, f'killed at call {step}, {call}')


@scenarios
@pools
def test_operation_that_fails_half_way_completes_when_repeated(name, batch, preexisting):
    """An operation whose writes are refused from any call on completes with what that left."""
    for step, call in enumerate(calls_of(name, batch, preexisting)):
        if not call.writes:
            continue
        scenario = Scenario(Lab(batch_members=batch), name, preexisting=preexisting)
        scenario.two.lab.around = Refusal(step)
        reply = scenario.send()
        assert not is_ok(reply), f'at call {step}, {call}'
        scenario.two.lab.around = lambda call: call.act()
        scenario.two.stored(reply)

        reply = scenario.requested()()

        assert_right(scenario, reply, f'refused from call {step} on, {call}')


@scenarios
@given(ORDERS, PENDING_S, CALL_S, st.booleans(), st.booleans())
@settings(max_examples=max(settings.default.max_examples // 5, 5))
def test_two_workers_at_once_leave_both_pools_right(
    name, order, pending_s, call_s, batch, preexisting
):
    """Concurrent copies of a request leave both pools right, whichever reply the engine stores."""
    lab = lab_of(order, pending_s, call_s, batch_members=batch)
    scenario = Scenario(lab, name, preexisting=preexisting)

    for reply in lab.clock.run(scenario.send, scenario.send):
        assert is_ok(reply), reply
        scenario.is_right(reply)


@given(ORDERS, PENDING_S, CALL_S, st.booleans())
def test_concurrent_attachments_of_both_policies_fill_both_pools(order, pending_s, call_s, batch):
    """Two policies that are attached at once have all nodes in their pools, and leave nothing when
    they are detached.
    """
    lab = lab_of(order, pending_s, call_s, batch_members=batch)
    two = TwoPolicies(lab)
    for name in 'ab':
        two.detach(name)
    first, second = two.binding('a'), two.binding('b')

    replies = lab.clock.run(lambda: lab.attach(first), lambda: lab.attach(second))

    for reply in replies:
        assert is_ok(reply), reply
        two.stored(reply)
    addresses = {'n1': '10.0.0.1', 'n2': '10.0.0.2'}
    assert two.pools() == {80: addresses, 443: addresses}
    for name in 'ab':
        assert two.detach(name)['status'] == 'OK'
    assert two.lab.is_empty()


@given(*DIFFERENT_NODES, ORDERS, PENDING_S, st.booleans(), st.booleans())
def test_concurrent_actions_on_different_nodes_leave_both_pools_right(
    first, second, order, pending_s, batch, preexisting
):
    """Concurrent actions on different nodes leave the remaining nodes in both pools."""
    lab = lab_of(order, pending_s, batch_members=batch)
    two = TwoPolicies(lab, (7,), preexisting=preexisting)
    policies = list(two.policies.values())

    stay = lab.clock.run(*(partial(create_and_delete, lab, policies, n) for n in (first, second)))

    nodes = {f'n{number}': f'10.0.0.{number}' for number in (7, *stay[0], *stay[1])}
    assert two.pools() == {80: nodes, 443: nodes | two.foreign}
