"""Rules that hold for any cordons, clusters and policies."""

from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.planning.places import Cordon, cordons_in_force
from tests.factories import NOW, deletion_policy, node, region_policy, zone_policy
from tests.unit.policies.cordons import (
    REGIONS,
    UNTIL,
    ZONES,
    cordon,
    decide,
    redistributing,
    scale_in,
    scale_out,
)


@st.composite
def cordons(draw, **fixed):
    """Draw cordons of zones, regions and zones of regions, some of which have ended."""
    drawn = []
    for _ in range(draw(st.integers(0, 4))):
        zone = draw(st.sampled_from([None, *ZONES]))
        region = draw(st.sampled_from([None, *REGIONS] if zone else REGIONS))
        until = draw(st.sampled_from([UNTIL, NOW]))
        evacuate = fixed.get('evacuate', draw(st.booleans()))
        drawn.append(Cordon(zone=zone, region=region, until=until, evacuate=evacuate))
    return drawn


@st.composite
def clusters(draw):
    """Draw nodes in known, unlisted and unknown places, some unhealthy or protected."""
    return [
        node(
            number,
            draw(st.sampled_from([*ZONES, 'x', None])),
            draw(st.sampled_from([*REGIONS, None])),
            status=draw(st.sampled_from(['ACTIVE', 'ACTIVE', 'ERROR'])),
            metadata=draw(st.sampled_from([None, None, {'protected': 'true'}])),
        )
        for number in range(1, draw(st.integers(2, 13)))
    ]


POLICIES = st.sampled_from(
    [
        [zone_policy('a', 'b', ('c', 300))],
        [region_policy('R1', ('R2', 300))],
        [region_policy('R1', ('R2', 300)), zone_policy('a', 'b', ('c', 300))],
    ]
)


@settings(max_examples=200)
@given(given=cordons(), members=clusters(), policies=POLICIES, count=st.integers(1, 9))
def test_no_node_is_created_in_a_cordoned_place(given, members, policies, count):
    """No placement names a place that a cordon in force covers."""
    reply = decide(scale_out(*policies, members=members, count=count), *given)

    placements = reply['action']['data'].get('placement', {}).get('placements', [])
    assert placements or reply['action']['data']['status'] == 'ERROR'
    for place in placements:
        at = place.get('region_name', 'R1'), place.get('zone')
        assert not any(one.covers(*at) for one in cordons_in_force(given, NOW))


@settings(max_examples=100)
@given(
    given=cordons(),
    members=clusters(),
    policies=POLICIES,
)
def test_no_retry_is_advised_in_a_cordoned_place(given, members, policies):
    """The alternatives of version 1.1, which engines try without asking again, are open places."""
    reply = decide(scale_out(*map(redistributing, policies), members=members), *given)

    creation = reply['action']['data'].get('creation', {})
    for one in creation.get('alternatives', ()):
        for place in one['retry']:
            at = place.get('region_name', 'R1'), place.get('zone')
            assert not any(found.covers(*at) for found in cordons_in_force(given, NOW))


@settings(max_examples=200)
@given(
    given=cordons(evacuate=False), members=clusters(), policies=POLICIES, count=st.integers(1, 9)
)
def test_cordon_without_evacuation_changes_no_deletion(given, members, policies, count):
    """The victims are those of the same deletion without cordons."""
    asked = scale_in(*policies, deletion_policy(), members=members, count=count)

    assert decide(asked, *given)['action']['data'] == decide(asked)['action']['data']


@settings(max_examples=200)
@given(members=clusters(), count=st.integers(1, 9), cordoned=st.sampled_from(ZONES))
def test_evacuated_zone_loses_its_nodes_first_within_each_group(members, count, cordoned):
    """No node of a listed zone leaves while an unprotected one of its group stays in the
    evacuated zone.
    """
    policies = [zone_policy(*ZONES), deletion_policy()]
    home = {'zones': dict.fromkeys(ZONES, True)}
    asked = scale_in(*policies, members=members, count=count)

    reply = decide(asked, cordon(zone=cordoned, evacuate=True), cloud=home)

    victims = set(reply['action']['data'].get('deletion', {}).get('candidates', ()))
    for status in ('ERROR', 'ACTIVE'):
        group = [one for one in members if one['status'] == status and not one['metadata']]
        staying = [one for one in group if _zone(one) == cordoned and one['id'] not in victims]
        others = [
            one for one in group if _zone(one) in set(ZONES) - {cordoned} and one['id'] in victims
        ]
        assert not staying or not others


def _zone(member):
    return member['data'].get('placement', {}).get('zone')
