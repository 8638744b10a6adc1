"""The property `spread` of the placement policies."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.places import Spread
from placement_worker.policies.registry import Registry
from tests.factories import (
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    spreading,
    zone_policy,
)

SCALE_OUT, SCALE_IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'
ZONES = zone_policy('az1', 'az2', 'az3')
LOST = {'az1': True, 'az2': False, 'az3': True}
SENTENCE = 'Zone az1 would hold 9 nodes, ideal 6.0, allowed skew 1: zone az2 is unavailable'

AT = '$.properties.spread'
KINDS = pytest.mark.parametrize('kind', ['zone', 'region'])


def spec(kind, **properties):
    """Return a spec of a placement policy with one place."""
    return Spec(
        f'senlin.policy.{kind}_placement', '1.1', {f'{kind}s': [{'name': 'a'}], **properties}
    )


@KINDS
@pytest.mark.parametrize(
    ('given', 'spread'),
    [
        ({}, Spread('best_effort', 1)),
        ({'spread': {}}, Spread('best_effort', 1)),
        ({'spread': {'mode': 'strict'}}, Spread('strict', 1)),
        ({'spread': {'max_skew': '3'}}, Spread('best_effort', 3)),
    ],
)
def test_spread_has_defaults_for_absent_keys(registry, kind, given, spread):
    """Without a choice the mode is best effort and the allowed skew is one node."""
    assert registry.policy(spec(kind, **given), '$').properties.spread == spread


@KINDS
@pytest.mark.parametrize(
    ('given', 'message'),
    [
        (
            {'mode': 'loose'},
            f'Expected one of `best_effort`, `strict`, got `loose` - at `{AT}.mode`',
        ),
        ({'max_skew': 0}, f'Expected `int` >= 1, got `0` - at `{AT}.max_skew`'),
        ({'max_skew': 0.5}, f'Expected `int` >= 1, got `0` - at `{AT}.max_skew`'),
        ({'max_skew': 'many'}, f'Expected `int`, got `str` - at `{AT}.max_skew`'),
        (
            {'skew': 2},
            f'Object contains unknown field `skew`, expected one of `mode`, `max_skew` - at `{AT}`',
        ),
        ('strict', f'Expected `object`, got `str` - at `{AT}`'),
    ],
)
def test_malformed_spread_is_refused_with_its_path(registry, kind, given, message):
    """A mode, a skew or a key that does not exist is refused where it stands."""
    with pytest.raises(InvalidSpec) as refused:
        registry.policy(spec(kind, spread=given), '$')

    assert str(refused.value) == message


def test_strict_spread_refuses_a_creation_beyond_the_skew_with_its_plan(check):
    """The check ends in ERROR with the numbers; the details have the plan and the skew."""
    policy = spreading(ZONES, mode='strict')

    reply = check(request(SCALE_OUT, [policy], inputs={'count': 18}), zones=LOST)

    assert reply['action']['data'] == {'status': 'ERROR', 'reason': SENTENCE}
    details = reply['decisions'][0]['details']
    assert [row['planned'] for row in details['zones']] == [9, 0, 9]
    assert [(row['name'], row['skew']) for row in details['skewed']] == [
        ('az1', 3.0),
        ('az2', -6.0),
        ('az3', 3.0),
    ]


def test_best_effort_spread_carries_out_the_plan_with_a_warning(check):
    """The plan beyond the skew is applied, and the warning has the words of the refusal."""
    reply = check(request(SCALE_OUT, [spreading(ZONES)], inputs={'count': 18}), zones=LOST)

    assert reply['action']['data']['creation']['zones'] == {'az1': 9, 'az3': 9}
    assert reply['warnings'] == [SENTENCE]
    assert len(reply['decisions'][0]['details']['skewed']) == 3


@pytest.mark.parametrize(('max_skew', 'status'), [(5, 'ERROR'), (6, 'OK')])
def test_strict_spread_tolerates_the_allowed_skew(check, max_skew, status):
    """A place exactly at the allowed skew is tolerated, without a warning."""
    policy = spreading(ZONES, mode='strict', max_skew=max_skew)

    reply = check(request(SCALE_OUT, [policy], inputs={'count': 18}), zones=LOST)

    assert (reply['action']['data']['status'], reply['warnings']) == (status, [])
    assert ('skewed' in reply['decisions'][0]['details']) == (status == 'ERROR')


def test_strict_spread_of_version_1_0_is_not_checked(check):
    """Version 1.0 plans as before, without a warning."""
    reply = check(request(SCALE_OUT, [ZONES], inputs={'count': 18}), zones=LOST)

    assert (reply['action']['data']['status'], reply['warnings']) == ('OK', [])
    assert 'skewed' not in reply['decisions'][0]['details']


def test_strict_spread_warns_of_the_skew_of_a_deletion(check):
    """A deletion is never refused because of its skew."""
    policies = [spreading(ZONES, mode='strict'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, nodes(az1=9, az3=2)), zones=LOST)

    assert reply['action']['data']['deletion']['zones'] == {'az1': 1}
    assert reply['warnings'] == [
        'Zone az1 would hold 8 nodes, ideal 3.33, allowed skew 1: '
        'a deletion adds no nodes to zones az2 and az3'
    ]


def test_strict_spread_refuses_a_single_new_node(check):
    """The creation of one node is checked as that of several."""
    policy = spreading(ZONES, mode='strict')

    reply = check(request('NODE_CREATE', [policy], nodes(az1=3, az3=2), node=node(9)), zones=LOST)

    assert reply['action']['data']['reason'] == (
        'Zone az2 would hold 0 nodes, ideal 2.0, allowed skew 1: zone az2 is unavailable'
    )
    assert reply['nodes'] == {}


def test_strict_spread_over_regions_counts_lost_ones(check):
    """A region that Keystone does not know keeps its share of the ideal."""
    policy = spreading(region_policy('R1', 'R2'), mode='strict')

    reply = check(request(SCALE_OUT, [policy], inputs={'count': 4}), regions=['R1'])

    assert reply['action']['data']['reason'] == (
        'Region R1 would hold 4 nodes, ideal 2.0, allowed skew 1: region R2 is unknown to the cloud'
    )
    assert [row['name'] for row in reply['decisions'][0]['details']['skewed']] == ['R1', 'R2']


def test_strict_spread_over_regions_counts_one_without_a_usable_zone(check):
    """A region in which zone placement finds no zone is lost as well."""
    policies = [spreading(region_policy('R1', 'R2'), mode='strict'), zone_policy('a')]
    regions = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': False}}}

    reply = check(request(SCALE_OUT, policies, inputs={'count': 4}), regions=regions)

    assert reply['action']['data']['reason'] == (
        'Region R1 would hold 4 nodes, ideal 2.0, allowed skew 1: region R2 has no usable zone'
    )


def test_strict_spread_of_zones_counts_the_zones_of_each_region(check):
    """With a plan by region, a zone counts in the regions that know it."""
    policies = [region_policy('R1', 'R2'), spreading(zone_policy('a', 'b', 'c'), mode='strict')]
    regions = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'b': False, 'c': True}}}

    fits = check(request(SCALE_OUT, policies, inputs={'count': 4}), regions=regions)
    skewed = check(request(SCALE_OUT, policies, inputs={'count': 8}), regions=regions)

    assert fits['action']['data']['status'] == 'OK'
    assert skewed['action']['data']['reason'] == (
        'Zone c of region R2 would hold 4 nodes, ideal 2.0, allowed skew 1: zone b is unavailable'
    )
    assert [row['region_name'] for row in skewed['decisions'][1]['details']['skewed']] == [
        'R2',
        'R2',
    ]


REGISTRY = Registry.installed()
STATES = {'available': True, 'unavailable': False}


@st.composite
def problems(draw):
    """Draw weighted places with their states and caps, nodes there, and a number of nodes."""
    names = ['a', 'b', 'c'][: draw(st.integers(1, 3))]
    weights = {name: draw(st.sampled_from([50, 100, 100, 100, 300])) for name in names}
    states = {
        name: draw(st.sampled_from(['available', 'available', *STATES, 'unknown']))
        for name in names
    }
    held = draw(st.dictionaries(st.sampled_from([*names, 'x']), st.integers(0, 4)))
    return weights, states, held, draw(st.integers(1, 6))


def best(weights, floors, ceilings, size):
    """Return the best final counts by brute force, or None.

    Of equally good counts, units go to the higher weight, then to the earlier place.
    """
    order = sorted(weights, key=lambda name: -weights[name])
    ranges = (range(floors[name], ceilings[name] + 1) for name in weights)
    plans = [dict(zip(weights, counts, strict=True)) for counts in itertools.product(*ranges)]
    fitting = [plan for plan in plans if sum(plan.values()) == size]
    if not fitting:
        return None
    return min(
        fitting,
        key=lambda plan: (
            sum(Fraction(plan[name] ** 2, weights[name]) for name in weights),
            [-plan[name] for name in order],
        ),
    )


def is_skewed(weights, final, max_skew):
    """Return whether a place is beyond the allowed skew."""
    share = Fraction(sum(final.values()), sum(weights.values()))
    return any(abs(final[name] - share * weights[name]) > max_skew for name in weights)


def decided(policy, action, held, count, **cloud):
    """Return the reply over an embedded cloud."""
    endpoints = Endpoints(Inventory.parse(cloud, 'test'), REGISTRY)
    key = 'zone' if 'zones' in cloud else 'region'
    named = [name for name, number in held.items() for _ in range(number)]
    members = [node(i, **{key: name}) for i, name in enumerate(named, start=1)]
    return endpoints.policy_check(request(action, [policy], members, inputs={'count': count}))


@settings(max_examples=300)
@given(problems(), st.integers(1, 3))
def test_strict_spread_over_zones_refuses_exactly_the_skewed_optima(problem, max_skew):
    """A creation is refused if and only if the best plan, by brute force, is beyond the skew."""
    weights, states, held, count = problem
    known = {name: STATES[state] for name, state in states.items() if state in STATES}
    held_there = {name: held.get(name, 0) for name in weights}
    room = {name: count if known.get(name) else 0 for name in weights}
    ceilings = {name: held_there[name] + room[name] for name in weights}
    size = sum(held_there.values()) + count
    final = best(weights, held_there, ceilings, size)
    policy = spreading(zone_policy(*weights.items()), mode='strict', max_skew=max_skew)

    data = decided(policy, SCALE_OUT, held, count, zones=known)['action']['data']

    if final is None:
        assert data['reason'] == 'No availability zone found available.'
    else:
        assert ('allowed skew' in data['reason']) == is_skewed(weights, final, max_skew)
        assert (data['status'] == 'ERROR') == is_skewed(weights, final, max_skew)


@settings(max_examples=200)
@given(problems(), st.sampled_from([SCALE_OUT, SCALE_IN]), st.integers(1, 3), st.booleans())
def test_best_effort_spread_decides_as_version_1_0(problem, action, max_skew, by_region):
    """Best effort, and every deletion, has the plan of 1.0, which has no places to try next."""
    weights, states, held, count = problem
    known = {name: STATES[state] for name, state in states.items() if state in STATES}
    cloud = {'regions': list(known)} if by_region else {'zones': known}
    plain = (region_policy if by_region else zone_policy)(*weights.items())
    mode = 'best_effort' if action == SCALE_OUT else 'strict'

    replies = [
        decided(policy, action, held, count, **cloud)
        for policy in (plain, spreading(plain, mode=mode, max_skew=max_skew))
    ]

    first, second = replies
    second['action']['data'].get('creation', {}).pop('alternatives', None)
    assert second['action'] == first['action']
    assert [one for one in second['warnings'] if 'allowed skew' not in one] == first['warnings']
    for one, other in zip(first['decisions'], second['decisions'], strict=True):
        other['details'].pop('skewed', None)
        assert (one['reason'], one['details']) == (other['reason'], other['details'])
