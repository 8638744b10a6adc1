"""Every operation with two policies on one cluster: alone, by a killed worker, by two workers."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.policies.load_balancing.building_blocks import Killed, Refusal
from tests.unit.policies.load_balancing.operations import (
    PROVIDERS,
    SCENARIOS,
    Killer,
    Scenario,
    TwoPolicies,
    calls_of,
    disturbed_at,
    is_ok,
    kill,
    prepared,
    undisturbed,
)
from tests.unit.policies.load_balancing.test_concurrent_copies import (
    CALL_S,
    DIFFERENT_NODES,
    ORDERS,
    PENDING_S,
    create_and_delete,
    lab_of,
)

scenarios = pytest.mark.parametrize('name', SCENARIOS)
providers = pytest.mark.parametrize('provider', PROVIDERS)


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
        scenario.lab.around = Killer(step, after=True)
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
        scenario.lab.around = Refusal(step)
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
