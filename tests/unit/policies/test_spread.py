"""The property `spread` of the placement policies."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
OF_AZ2 = 'Zone az2 would hold 0 nodes, ideal 6.0, allowed skew 5: zone az2 is unavailable'
ALL_SKEWED = {'az1': 3.0, 'az2': -6.0, 'az3': 3.0}


@pytest.mark.parametrize(
    ('policy', 'status', 'text', 'skewed'),
    [
        (spreading(ZONES, mode='strict'), 'ERROR', SENTENCE, ALL_SKEWED),
        (spreading(ZONES, mode='strict', max_skew=5), 'ERROR', OF_AZ2, {'az2': -6.0}),
        (spreading(ZONES, mode='strict', max_skew=6), 'OK', None, {}),
        (spreading(ZONES), 'OK', SENTENCE, ALL_SKEWED),
        (ZONES, 'OK', None, {}),
    ],
    ids=['strict', 'beyond', 'allowed', 'best effort', 'version 1.0'],
)
def test_creation_beyond_the_skew_fails_or_has_a_warning(check, policy, status, text, skewed):
    """A place exactly at the allowed skew is tolerated; a refusal has the plan and the skew."""
    reply = check(request(SCALE_OUT, [policy], inputs={'count': 18}), zones=LOST)

    data, details = reply['action']['data'], reply['decisions'][0]['details']
    assert data['status'] == status
    assert (reply['warnings'] if status == 'OK' else [data['reason']]) == [text] * bool(text)
    assert [row['planned'] for row in details['zones']] == [9, 0, 9]
    assert {row['name']: row['skew'] for row in details.get('skewed', ())} == skewed


def test_strict_spread_warns_of_the_skew_of_a_deletion(check):
    """A deletion is never refused because of its skew."""
    policies = [spreading(ZONES, mode='strict'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, nodes(az1=9, az3=2)), zones=LOST)

    assert reply['action']['data']['deletion']['zones'] == {'az1': 1}
    assert reply['warnings'] == [
        'Zone az1 would hold 8 nodes, ideal 3.33, allowed skew 1: '
        'a deletion adds no nodes to zones az2 and az3'
    ]


def strict(policy):
    return spreading(policy, mode='strict')


R2_WITHOUT_A = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': False}}}
UNEQUAL = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'b': False, 'c': True}}}
REGIONS, A, ABC = region_policy('R1', 'R2'), zone_policy('a'), zone_policy('a', 'b', 'c')
OF_R1 = 'Region R1 would hold 8 nodes, ideal 4.0, allowed skew 1: region R2 '
OF_C = 'Zone c of region R2 would hold 4 nodes, ideal 2.0, allowed skew 1: zone b is unavailable'
BOTH = ['R1', 'R2']


@pytest.mark.parametrize(
    ('policies', 'regions', 'reason', 'skewed'),
    [
        ([strict(REGIONS)], ['R1'], f'{OF_R1}is unknown to the cloud', BOTH),
        ([strict(REGIONS), A], R2_WITHOUT_A, f'{OF_R1}has no usable zone', BOTH),
        ([REGIONS, strict(ABC)], UNEQUAL, OF_C, ['b', 'c']),
    ],
    ids=['unknown', 'no zone', 'zones of a region'],
)
def test_strict_spread_counts_places_in_which_no_node_can_be_created(
    check, policies, regions, reason, skewed
):
    """A lost region or zone keeps its share of the ideal; a zone counts where it is known."""
    reply = check(request(SCALE_OUT, policies, inputs={'count': 8}), regions=regions)

    assert reply['action']['data']['reason'] == reason
    assert [row['name'] for row in reply['decisions'][-1]['details']['skewed']] == skewed


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


@settings(max_examples=2 * settings.default.max_examples)
@given(problems(), st.sampled_from([SCALE_OUT, SCALE_IN]), st.integers(1, 3), st.booleans())
def test_best_effort_spread_decides_as_version_1_0(check, problem, action, max_skew, by_region):
    """Best effort, and every deletion, has the plan of 1.0, which has no places to try next."""
    weights, states, held, count = problem
    known = {name: STATES[state] for name, state in states.items() if state in STATES}
    cloud = {'regions': list(known)} if by_region else {'zones': known}
    plain = (region_policy if by_region else zone_policy)(*weights.items())
    mode = 'best_effort' if action == SCALE_OUT else 'strict'
    names = [name for name, number in held.items() for _ in range(number)]
    key = 'region' if by_region else 'zone'
    members = [node(i, **{key: name}) for i, name in enumerate(names, start=1)]

    first, second = (
        check(request(action, [policy], members, inputs={'count': count}), **cloud)
        for policy in (plain, spreading(plain, mode=mode, max_skew=max_skew))
    )

    second['action']['data'].get('creation', {}).pop('alternatives', None)
    assert second['action'] == first['action']
    assert [one for one in second['warnings'] if 'allowed skew' not in one] == first['warnings']
    for one, other in zip(first['decisions'], second['decisions'], strict=True):
        other['details'].pop('skewed', None)
        assert (one['reason'], one['details']) == (other['reason'], other['details'])
