"""The chain: order, what each policy sees, and what a failure leaves."""

import itertools
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract import codec
from placement_worker.contract.model import (
    Binding,
    CheckRequest,
    ClusterPatch,
    Node,
    NodePatch,
    Spec,
)
from placement_worker.errors import Rejected
from placement_worker.handlers import chain
from placement_worker.handlers.chain import Link, in_order
from placement_worker.handlers.decision_state import Conditions, decide, state_for_check
from placement_worker.policies.base import AFTER, BEFORE, Outcome, Policy, on, skipped
from tests.factories import (
    NOW,
    deletion_policy,
    load_balancing_policy,
    node,
    region_policy,
    request,
    zone_policy,
)


class Scripted(Policy):
    """Does what its properties say."""

    name = 'test.scripted'
    priority = 500
    targets = on(BEFORE, 'CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE') | on(AFTER, 'CLUSTER_SCALE_OUT')

    def check(self, request, state):
        return self.properties(state)


def appending(word):
    return lambda state: Outcome(
        'APPLIED', word, data={**state.data, 'words': [*state.data.get('words', []), word]}
    )


def giving(reason):
    return lambda state: Outcome('APPLIED', 'x', data={**state.data, 'reason': reason})


def failing(state):
    raise Rejected('It cannot be done.', {'tried': 3})


def run(*scripts, action='CLUSTER_SCALE_OUT', data=None, inputs=None, ticks=None, target='BEFORE'):
    """Run scripts, each alone or with a priority."""
    asked = codec.decode(
        request(
            action, [], [node(1), node(2)], data=data or {}, inputs=inputs or {}, target=target
        ),
        CheckRequest,
    )
    bound = []
    for number, script in enumerate(scripts, start=1):
        priority, does = script if isinstance(script, tuple) else (None, script)
        binding = Binding(id=f'p{number}', spec=Spec('test.scripted', '1.0'), priority=priority)
        policy = does if isinstance(does, Policy) else Scripted(does)
        bound.append(Link.of(binding, policy, asked))
    clock = (ticks or itertools.count(0, 0.001)).__next__
    conditions = Conditions(Inventory(), OctaviaSettings(), 1000, NOW, left_s=lambda: math.inf)
    links = in_order(bound)
    return decide(asked, links, state_for_check(asked, links, conditions), clock)


def outcomes(reply):
    return [(d.policy_id, d.outcome, d.reason) for d in reply.decisions]


def test_run_of_a_resize_with_invalid_data_that_no_policy_reads_completes_the_check():
    """A value that matters to no policy is a warning; the reply then has no number of nodes."""
    inputs = {'adjustment_type': 'EXACT_CAPACITY', 'number': 'x'}

    assert run(action='CLUSTER_RESIZE').action.data['creation'] == {'count': 0}
    assert 'creation' not in run(action='CLUSTER_RESIZE', target='AFTER').action.data
    warning = Outcome('APPLIED', 'r', warnings=['Mind it'])
    reply = run(lambda state: warning, action='CLUSTER_RESIZE', inputs=inputs)

    assert reply.action.data == {'status': 'OK', 'reason': 'Completed policy checking.'}
    assert reply.warnings == [
        'Expected `int`, got `"x"` - at `$.action.inputs.number`: the engine must refuse the '
        'resize',
        'Mind it',
    ]


def test_run_drops_a_deletion_that_a_growth_ignores_only_for_policies():
    """A policy sees no deletion that the action ignores; without one, the data stay as they are."""
    data = {'deletion': {'count': 1}}

    assert run(data=data).action.data['deletion'] == {'count': 1}
    assert 'deletion' not in run(appending('a'), data=data).action.data


def deleting(*names):
    return lambda state: Outcome(
        'APPLIED', 'named', data={**state.data, 'deletion': {'candidates': list(names)}}
    )


@pytest.mark.parametrize(
    ('more', 'is_kept'),
    [
        ({}, False),
        ({'action': 'CLUSTER_RESIZE', 'data': {'creation': {'count': 1}}}, False),
        ({'action': 'CLUSTER_RESIZE'}, True),
        ({'target': 'AFTER'}, True),
    ],
    ids=['scale-out', 'resize that grows', 'decides the direction', 'AFTER'],
)
def test_run_drops_a_deletion_that_a_plugin_adds_to_a_growth_alone(more, is_kept):
    """A later policy and the reply have no victims of a growth; a warning says so.

    A deletion decides the direction of a resize; the data AFTER an action are the plugin's.
    """
    seen = []

    def later(state):
        seen.append('deletion' in state.data)
        return skipped('Nothing.')

    reply = run(deleting('n1'), later, **more)

    assert (seen, 'deletion' in reply.action.data) == ([is_kept], is_kept)
    assert outcomes(reply) == [('p1', 'APPLIED', 'named'), ('p2', 'SKIPPED', 'Nothing.')]
    warning = (
        'The action adds 1 node and removes none, so it ignores data.deletion: remove nodes by an '
        'action of their own'
    )
    assert reply.warnings == ([] if is_kept else [warning])


def test_run_of_a_growth_fails_in_the_plugin_that_names_a_stranger_for_deletion():
    """A plugin that names a node of another cluster fails, also if its deletion has no effect."""
    reply = run(deleting('alien'))

    assert outcomes(reply) == [('p1', 'FAILED', 'Not a member of cluster c1: alien')]
    assert 'deletion' not in reply.action.data


def test_run_drops_reason_and_status_of_an_earlier_phase():
    """The reply has the last reason of a policy, and not the status and reason of the request."""
    data = {'status': 'ERROR', 'reason': 'from before', 'kept': 1}

    assert run(appending('a'), data=data).action.data == {
        'kept': 1,
        'words': ['a'],
        'status': 'OK',
        'reason': 'Completed policy checking.',
    }
    assert run(appending('a'), giving('one'), giving('two')).action.data['reason'] == 'two'


def test_run_stops_at_the_first_failure_and_keeps_earlier_decisions():
    """A failure ends the chain; changes and times of earlier policies stay in the reply."""
    scripts = appending('a'), lambda state: skipped('Nothing.'), failing, appending('c')

    reply = run(*scripts, ticks=iter([0, 0.125, 1.0, 1.25, 2.0, 2.5]))

    assert reply.action.data == {'words': ['a'], 'status': 'ERROR', 'reason': 'It cannot be done.'}
    assert outcomes(reply) == [
        ('p1', 'APPLIED', 'a'),
        ('p2', 'SKIPPED', 'Nothing.'),
        ('p3', 'FAILED', 'It cannot be done.'),
    ]
    assert reply.decisions[2].details == {'tried': 3}
    assert [d.elapsed_ms for d in reply.decisions] == [125.0, 250.0, 500.0]


def test_run_with_a_policy_that_returns_none_names_the_policy():
    """The error about a wrong return type names the policy."""
    with pytest.raises(
        TypeError, match=r'^test\.scripted returned NoneType, expected an Outcome\b'
    ):
        run(lambda state: None)


def test_run_merges_patches_for_later_policies():
    """Each policy sees the merged patches of the policies before it."""
    seen = []

    def first(state):
        patch = NodePatch({'mark': 1})
        return Outcome('APPLIED', 'r', nodes={'n2': patch}, cluster=ClusterPatch({'c': 1}))

    def second(state):
        seen.extend(state.node_data(Node(name, data={'mark': 0})) for name in ('n2', 'n3'))
        return Outcome('APPLIED', 'r', nodes={'n1': NodePatch({'mark': 2})})

    reply = run(first, second)

    assert seen == [{'mark': 1}, {'mark': 0}]
    assert list(reply.nodes) == ['n1', 'n2']
    assert reply.cluster == ClusterPatch({'c': 1})


def typed(name, after):
    """A policy type of this name, which adds it to `data.words`."""

    class Typed(Scripted):
        pass

    Typed.name, Typed.after = name, frozenset(after)
    return Typed(appending(name))


@given(st.permutations(range(6)), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_order_any_bindings_agrees_with_the_rule(positions, priorities):
    """The policy that runs next has the lowest priority of those whose dependencies have run."""
    absent = 9
    after = {0: set(), 1: {0}, 2: {0, 1}, 3: {0, 1, 2}, 4: {absent}, 5: {4}}
    types = [typed(str(n), {str(one) for one in after[n]}) for n in range(6)]
    order = run(*((priorities[n], types[n]) for n in positions)).action.data['words']

    done = []
    while len(done) < 6:
        ready = [n for n in positions if n not in done and after[n] <= {*done, absent}]
        done.append(min(ready, key=lambda n: priorities[n]))
    assert order == list(map(str, done))


@pytest.mark.parametrize('priorities', list(itertools.permutations((100, 200, 300, 400))))
def test_order_of_our_types_is_fixed_whatever_the_bindings_say(priorities, check):
    """Regions are planned before zones, then victims are chosen, and members removed last.

    The decisions have the priorities of the bindings.
    """
    policies = [load_balancing_policy(), deletion_policy(), zone_policy('a'), region_policy('R1')]
    bound = [
        {**policy, 'priority': priority}
        for policy, priority in zip(policies, priorities, strict=True)
    ]

    reply = check(request('CLUSTER_CHECK', bound, [node(1)]))

    assert [d['policy_name'] for d in reply['decisions']] == [
        'region_placement', 'zone_placement', 'deletion', 'loadbalance',
    ]  # fmt: skip
    decided = {decision['policy_name']: decision['priority'] for decision in reply['decisions']}
    assert decided == {binding['name']: binding['priority'] for binding in bound}


TWO_ZONES = [zone_policy('a'), zone_policy('a', 'b')]
TWO_REGIONS = [region_policy('R1')] * 2
TWO_VERSIONS = [deletion_policy(version='1.0'), deletion_policy(version='1.1')]
TWO_UNNAMED = [{**deletion_policy(), 'name': None}] * 2


@pytest.mark.parametrize(
    ('first', 'second', 'kind', 'names'),
    [
        (*TWO_ZONES, 'zone_placement', 'policy 1 and policy 3'),
        (*TWO_REGIONS, 'region_placement', 'policy 1 and policy 3'),
        (*TWO_VERSIONS, 'deletion', 'policy 1 and policy 3'),
        (*TWO_UNNAMED, 'deletion', 'p1 and p3'),
    ],
    ids=['zones', 'regions', 'versions', 'unnamed'],
)
def test_two_policies_of_an_exclusive_type_that_both_decide_fail(check, first, second, kind, names):
    """Two enabled bindings of a placement or deletion type fail the check, which names both."""
    bound = [
        {**policy, 'id': f'p{n}', 'name': policy['name'] and f'policy {n}'}
        for n, policy in enumerate([first, load_balancing_policy(), second], start=1)
    ]

    members = [node(1, 'a', 'R1'), node(2, 'a', 'R1')]
    reply = check(request('CLUSTER_SCALE_IN', bound, members), ['a'], ['R1'])

    reason = f'Policies {names} are both of type senlin.policy.{kind}: disable or detach one.'
    assert reply['action']['data'] == {'status': 'ERROR', 'reason': reason}
    assert [(d['policy_id'], d['outcome'], d['reason']) for d in reply['decisions']] == [
        ('p1', 'FAILED', reason),
        ('p3', 'FAILED', reason),
    ]


@pytest.mark.parametrize(
    ('action', 'policies'),
    [
        ('CLUSTER_SCALE_IN', [{**deletion_policy(), 'enabled': False}, deletion_policy()]),
        ('CLUSTER_SCALE_OUT', [deletion_policy()] * 2),
        ('CLUSTER_SCALE_OUT', [load_balancing_policy()] * 2),
    ],
    ids=['one disabled', 'another action', 'load balancing'],
)
def test_two_policies_of_one_type_of_which_at_most_one_decides_pass(check, action, policies):
    """Bindings of one type are allowed if at most one decides, or if each has its own pool."""
    bound = [{**policy, 'id': f'p{n}'} for n, policy in enumerate(policies, start=1)]

    assert check(request(action, bound, [node(1)]))['action']['data']['status'] == 'OK'


NOT_HANDLED = 'senlin.policy.deletion does not handle CLUSTER_SCALE_OUT BEFORE.'
DERIVED = 'NODE_DELETE is a derived action: the policies decide on the action that it is part of.'
OTHER_PROFILE = 'senlin.policy.zone_placement does not support profile type os.'
HEAT, NOVA = {'type': 'os.heat-1'}, {'type': 'os.nova.server'}
IS_HEAT = f'{OTHER_PROFILE}heat-1.'
NO_VERSION = f'{OTHER_PROFILE}nova.server (did you mean os.nova.server-1.0?).'
OF_NODE = {'node': node(1)}
CAUSES = 'RPC Request', 'Derived Action with Lifecycle Hook', '', None


@pytest.mark.parametrize(
    ('policy', 'action', 'more', 'reason'),
    [
        (deletion_policy(), 'CLUSTER_SCALE_IN', {}, None),
        (deletion_policy(), 'CLUSTER_SCALE_IN', {'cause': 'Derived Action'}, None),
        *((deletion_policy(), 'NODE_DELETE', {**OF_NODE, 'cause': one}, None) for one in CAUSES),
        (deletion_policy(), 'CLUSTER_SCALE_OUT', {}, NOT_HANDLED),
        (deletion_policy(), 'NODE_DELETE', {**OF_NODE, 'cause': 'Derived Action'}, DERIVED),
        (zone_policy('a'), 'CLUSTER_SCALE_OUT', {'profile': HEAT}, IS_HEAT),
        (zone_policy('a'), 'CLUSTER_SCALE_OUT', {'profile': NOVA}, NO_VERSION),
    ],
)
def test_link_skip_reason_names_the_action_or_the_profile_type(
    registry, policy, action, more, reason
):
    """A policy has a reason to be skipped unless it handles the action and the profile type."""
    asked = msgspec.convert(request(action, [policy], [node(1)], **more), CheckRequest)

    (link,) = chain.links_of(asked, registry)

    assert link.skip_reason == reason
