"""Tests for several workers that handle copies of a request at once."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.cloud.ports import ApiError
from tests.deterministic_threads import ThreadScheduler
from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import Lab

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
