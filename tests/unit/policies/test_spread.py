"""The property `spread` of the placement policies."""

import pytest

from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec
from placement_worker.policies.places import Spread
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


def test_strict_spread_ignores_a_node_whose_profile_names_its_zone(check):
    """The user has chosen the zone of such a node, so the policy is skipped."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'availability_zone': 'az1'}}
    policy = spreading(ZONES, mode='strict')

    reply = check(
        request('NODE_CREATE', [policy], nodes(az1=9), node=node(9, profile=profile)), zones=LOST
    )

    assert reply['decisions'][0]['outcome'] == 'SKIPPED'
    assert reply['action']['data']['status'] == 'OK'


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


def test_best_effort_spread_over_regions_warns(check):
    """The plan by region is applied with a warning."""
    policy = spreading(region_policy('R1', 'R2'))

    reply = check(request(SCALE_OUT, [policy], inputs={'count': 4}), regions=['R1'])

    assert reply['action']['data']['creation']['regions'] == {'R1': 4}
    assert 'Region R1 would hold 4 nodes, ' in reply['warnings'][1]


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
