"""Strict spread compared with brute force, and best effort with version 1.0."""

import itertools
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import node, region_policy, request, spreading, zone_policy

SCALE_OUT, SCALE_IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'
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


@settings(max_examples=300)
@given(problems(), st.lists(st.integers(-1, 5), min_size=3, max_size=3), st.integers(1, 3))
def test_strict_spread_over_regions_refuses_exactly_the_skewed_optima(problem, caps, max_skew):
    """The same holds for regions with caps."""
    weights, states, held, count = problem
    held_there = {name: held.get(name, 0) for name in weights}
    capped = dict(zip(weights, caps, strict=False))
    room = {
        name: (count if capped[name] < 0 else max(0, min(count, capped[name] - held_there[name])))
        if states[name] == 'available'
        else 0
        for name in weights
    }
    ceilings = {name: held_there[name] + room[name] for name in weights}
    final = best(weights, held_there, ceilings, sum(held_there.values()) + count)
    policy = spreading(region_policy(*weights.items()), mode='strict', max_skew=max_skew)
    for region in policy['spec']['properties']['regions']:
        region['cap'] = capped[region['name']]
    regions = [name for name, state in states.items() if state == 'available']

    data = decided(policy, SCALE_OUT, held, count, regions=regions)['action']['data']

    if final is None:
        assert data['status'] == 'ERROR'
        assert 'allowed skew' not in data['reason']
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
