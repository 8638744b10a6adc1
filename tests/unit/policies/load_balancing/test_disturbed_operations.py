"""Operations of workers that are killed, refused, or concurrent, mostly with two policies."""

import itertools
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.ports import ApiError
from tests.deterministic_threads import ThreadScheduler
from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import FORBIDDEN, Killed
from tests.unit.policies.load_balancing.operations import (
    PROVIDERS,
    SCENARIOS,
    Scenario,
    TwoPolicies,
    calls_of,
    disturbed_at,
    is_ok,
    kill,
    killing,
    prepared,
    undisturbed,
)

# Thousands of operations, most of whose branches other tests reach, too.
pytestmark = pytest.mark.no_cover
scenarios = pytest.mark.parametrize('name', SCENARIOS)
providers = pytest.mark.parametrize('provider', PROVIDERS)
# The threads that proceed, each with its number of calls.
ORDERS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), min_size=1, max_size=12)
PENDING_S = st.sampled_from([0, 0.2, 1, 3])
CALL_S = st.sampled_from([0, 0.01, 0.3])
DIFFERENT_NODES = st.lists(st.integers(1, 3)), st.lists(st.integers(4, 6))


def lab_of(order, pending_s, call_s=0, **more):
    following = itertools.cycle([who for who, calls in order for _ in range(calls)])
    turns = ThreadScheduler(lambda count: next(following) % count)
    lab = Lab(pending_s=pending_s, clock=turns, **more)

    def in_turn(call):
        turns.sleep(call_s)
        return call.act()

    lab.around = in_turn
    return lab


def create_and_delete(lab, policies, numbers):
    """Create nodes, and delete those whose number comes again; return the numbers that stay."""
    inside = {}
    for number in numbers:
        one = connected(number, data=inside.get(number, {}))
        action, target = ('NODE_DELETE', 'BEFORE') if number in inside else ('NODE_CREATE', 'AFTER')
        reply = lab.check(request(action, policies, [one], node=one, target=target))
        assert reply['action']['data']['status'] == 'OK', reply
        if number in inside:
            del inside[number]
        else:
            inside[number] = reply['nodes'][one['id']]['data']
    return list(inside)


@scenarios
@providers
def test_both_pools_follow_an_operation(name, provider):
    """After each operation, both pools and the data of all nodes are right; with batches, its
    updates do not depend on the number of nodes.
    """
    calls_of(name, provider)


@scenarios
@providers
@pytest.mark.parametrize(
    ('after', 'passed_s'),
    [(False, 0), (True, 0), (True, 20)],
    ids=['before its effect', 'after its effect', 'when nothing is pending'],
)
def test_operation_of_a_killed_worker_completes_when_redelivered(name, provider, after, passed_s):
    """A worker killed at any call leaves nothing that another worker does not put right."""
    calls = calls_of(name, provider)
    for step in range(len(calls)):
        scenario = prepared(name, provider)
        kill(scenario, step, after=after)
        scenario.lab.clock.now += passed_s

        reply = scenario.send()

        with disturbed_at(step, calls, 'killed'):
            assert is_ok(reply), reply
            scenario.is_right(reply)


@pytest.mark.parametrize('name', [name for name in SCENARIOS if 'detach' not in name])
@providers
def test_operation_killed_repeatedly_completes(name, provider):
    """An operation completes after workers were killed at ever later calls."""
    scenario = prepared(name, provider)
    for step in range(len(calls_of(name, provider))):
        scenario.lab.around = killing(step, after=True)
        try:
            scenario.send()
        except Killed:
            continue
        break
    scenario.lab.around = undisturbed

    reply = scenario.send()

    assert is_ok(reply), reply
    scenario.is_right(reply)


@pytest.mark.parametrize('name', ['attach_first', 'attach_second'])
@providers
def test_detach_after_a_killed_attach_leaves_nothing(name, provider):
    """A detachment without stored data removes all objects of a killed attachment."""
    for step in range(len(calls_of(name, provider))):
        scenario = prepared(name, provider)
        two = scenario.two
        before = two.pools()
        kill(scenario, step)

        assert is_ok(two.detach(scenario.parts['attach']))

        assert two.pools() == before
        assert two.is_right()


@scenarios
@providers
def test_operation_that_fails_half_way_completes_when_repeated(name, provider):
    """An operation whose writes are refused from any call on completes with what that left."""
    calls = calls_of(name, provider)
    for step, call in enumerate(calls):
        if not call.writes:
            continue
        scenario = prepared(name, provider)

        def refuse(call, lab=scenario.lab, step=step):
            if call.writes and len(lab.calls) > step:
                raise ApiError(FORBIDDEN, 403)
            return call.act()

        scenario.lab.around = refuse
        reply = scenario.send()
        assert not is_ok(reply), f'at call {step}, {call}'
        scenario.lab.around = undisturbed
        scenario.two.stored(reply)

        reply = scenario.requested()()

        with disturbed_at(step, calls, 'refused'):
            assert is_ok(reply), reply
            scenario.is_right(reply)


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


@given(ORDERS, PENDING_S, CALL_S, st.lists(st.integers(0, 40), max_size=4), st.booleans())
def test_concurrent_copies_with_transient_errors_create_one_load_balancer(
    order, pending_s, call_s, faulty, done
):
    """Transient errors of Octavia do not lead to a second load balancer."""
    lab = lab_of(order, pending_s, call_s)
    asked = bind(load_balancing_policy(), [connected(1)])
    in_turn, numbers = lab.around, itertools.count()

    def sometimes(call):
        if next(numbers) not in faulty:
            return in_turn(call)
        if done:
            in_turn(call)
        raise ApiError('The connection broke')

    lab.around = sometimes
    replies = lab.clock.run(*[lambda: lab.attach(asked)] * 2)

    (made,) = lab.settled()['loadbalancer']
    assert [reply['reason'] for reply in replies] == ['Policy attached.'] * 2
    assert {
        reply['policy']['data']['LoadBalancingPolicy']['data']['loadbalancer'] for reply in replies
    } == {made['id']}  # fmt: skip
    assert lab.addresses() == ['10.0.0.1']


@given(ORDERS, PENDING_S, CALL_S)
def test_concurrent_attach_and_detach_leave_at_most_one_load_balancer(order, pending_s, call_s):
    """Concurrent attachment and detachment leave one complete load balancer or none."""
    lab = lab_of(order, pending_s, call_s)
    asked = bind(load_balancing_policy(), [connected(1)])

    attached, detached = lab.clock.run(lambda: lab.attach(asked), lambda: lab.detach(asked))

    assert detached['status'] == 'OK'
    assert len(lab.settled()['loadbalancer']) <= (attached['status'] == 'OK')
