"""Every operation with two policies on one cluster: alone, by a killed worker, by two workers."""

from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.ports import ApiError
from tests.factories import connected
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import (
    FORBIDDEN,
    Killed,
    created,
    ids_of,
    recreated,
)
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


class Scenario:
    """An operation on a cluster of four nodes with two policies.

    :ivar leaving: the ids of the nodes that the action deletes.
    :ivar send: handles a copy of one request.
    """

    def __init__(self, lab, name, *, preexisting):
        self.two = TwoPolicies(lab, range(1, 5), preexisting=preexisting)
        self.leaving = ()
        self.requested = getattr(self, f'_{name}')()
        self.send = self.requested()
        lab.calls.clear()

    def is_right(self, reply):
        """Check the state after a reply that the engine stores."""
        before = self.two.members, self.two.policies, self.two.cluster_data
        self.two.stored(reply)
        data = {one['id']: one['data'] for one in self.two.members}
        self.two.members = [one for one in self.two.members if one['id'] not in self.leaving]
        assert all(data[node_id] == {} for node_id in self.leaving), data
        assert self.two.is_right(), (self.two.pools(), data)
        self.two.members, self.two.policies, self.two.cluster_data = before

    def _check(self, action, leaving=(), node=None, **more):
        self.leaving = leaving

        def ask():
            nodes = {one['id']: one for one in self.two.members}
            asked = self.two.checked(action, node=nodes.get(node), **more)
            return lambda: self.two.lab.check(asked)

        return ask

    def _bind(self, method, name):
        def ask():
            asked = self.two.binding(name)
            return lambda: method(asked)

        return ask

    def _after(self, action, **more):
        return self._check(action, target='AFTER', **more)

    def _grown(self, *numbers):
        self.two.members += [connected(number) for number in numbers]
        return created(*(f'n{number}' for number in numbers))

    def _attach_first(self):
        self.two.detach('a')
        return self._bind(self.two.lab.attach, 'a')

    def _attach_second(self):
        self.two.detach('b')
        return self._bind(self.two.lab.attach, 'b')

    def _attach_again(self):
        self._lose('a', 'n1')
        return self._bind(self.two.lab.attach, 'a')

    def _detach_first(self):
        return self._bind(self.two.lab.detach, 'a')

    def _detach_second(self):
        return self._bind(self.two.lab.detach, 'b')

    def _detach_last(self):
        self.two.detach('a')
        return self._bind(self.two.lab.detach, 'b')

    def _scale_out(self):
        return self._after('CLUSTER_SCALE_OUT', data=self._grown(5, 6))

    def _add_nodes(self):
        return self._after('CLUSTER_ADD_NODES', data=self._grown(5))

    def _grow(self):
        return self._after('CLUSTER_RESIZE', data=self._grown(5, 6))

    def _create_node(self):
        self._grown(5)
        return self._after('NODE_CREATE', node='n5')

    def _scale_in(self):
        data = {'deletion': {'count': 2, 'candidates': ['n1', 'n2']}}
        return self._check('CLUSTER_SCALE_IN', ('n1', 'n2'), data=data)

    def _delete_nodes(self):
        inputs = {'candidates': ['n3']}
        return self._check('CLUSTER_DEL_NODES', ('n3',), inputs=inputs)

    def _shrink(self):
        data = {'deletion': {'count': 2, 'candidates': ['n1', 'n4']}}
        inputs = {'adjustment_type': 'EXACT_CAPACITY', 'number': 2}
        return self._check('CLUSTER_RESIZE', ('n1', 'n4'), data=data, inputs=inputs)

    def _delete_node(self):
        return self._check('NODE_DELETE', ('n2',), node='n2')

    def _replace_before(self):
        inputs = {'candidates': {'n1': 'n5', 'n2': 'n6'}}
        return self._check('CLUSTER_REPLACE_NODES', ('n1', 'n2'), inputs=inputs)

    def _replace_after(self):
        self._grown(5, 6)
        inputs = {'candidates': {'n1': 'n5', 'n2': 'n6'}}
        return self._after('CLUSTER_REPLACE_NODES', inputs=inputs)

    def _replace_at_reused_addresses(self):
        """The new nodes have the addresses of deleted ones, whose members are still there."""
        del self.two.members[:2]
        self._grown(5, 6)
        for node, number in zip(self.two.members[-2:], (1, 2), strict=True):
            node['details'] = connected(number)['details']
        inputs = {'candidates': {'n1': 'n5', 'n2': 'n6'}}
        return self._after('CLUSTER_REPLACE_NODES', inputs=inputs)

    def _recover_recreated(self):
        return self._recover(9)

    def _recover_recreated_at_its_address(self):
        return self._recover(1)

    def _recover_recreated_half(self):
        self._lose('b', 'n1')
        return self._recover(9)

    def _recover(self, number):
        self.two.members[0] = recreated(self.two.members[0], number)
        return self._after('NODE_RECOVER', node='n1')

    def _recover_untouched(self):
        return self._after('NODE_RECOVER', node='n1')

    def _recover_lost_in_first(self):
        self._lose('a', 'n1')
        return self._after('NODE_RECOVER', node='n1')

    def _recover_lost_in_second(self):
        self._lose('b', 'n1')
        return self._after('NODE_RECOVER', node='n1')

    def _lose(self, name, node_id):
        """Delete the member of a node in one pool, as another client does."""
        port = {'a': 80, 'b': 443}[name]
        ids = {
            (one['protocol_port'], one['name']): one['id']
            for one in self.two.lab.settled()['member']
        }
        pool = ids_of(self.two.policies[name])['pool']
        self.two.lab.octavia(None).delete_member(pool, ids[port, node_id])
        self.two.lab.clock.sleep(5)


NAMES = [
    'attach_first', 'attach_second', 'attach_again', 'detach_first', 'detach_second', 'detach_last',
    'scale_out', 'add_nodes', 'grow', 'create_node', 'scale_in', 'delete_nodes', 'shrink',
    'delete_node', 'replace_before', 'replace_after', 'replace_at_reused_addresses',
    'recover_recreated', 'recover_recreated_at_its_address', 'recover_recreated_half',
    'recover_untouched', 'recover_lost_in_first', 'recover_lost_in_second',
]  # fmt: skip
scenarios = pytest.mark.parametrize('name', NAMES)
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


class Refusal:
    """Refuses all writes from the n-th call on."""

    def __init__(self, step):
        self.step, self.seen = step, 0

    def __call__(self, call):
        self.seen += 1
        if call.writes and self.seen > self.step:
            raise ApiError(FORBIDDEN, 403)
        return call.act()


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
