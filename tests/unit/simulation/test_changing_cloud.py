"""The cloud that loses and regains zones and regions."""

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.simulation.changing_cloud import ChangingCloud
from tests.factories import region_policy, zone_policy
from tests.unit.simulation.conftest import held, ideals


def test_play_with_a_lost_zone_creates_no_node_there(run):
    """A lost zone gets no new node until it is restored."""
    records = run(
        [
            {'scale_out': 3},
            {'lose_zone': 'b'},
            {'scale_out': 2},
            {'restore_zone': 'b'},
            {'scale_out': 1},
        ]
    )

    assert [held(record)['b'] for record in records] == [1, 1, 1, 1, 2]
    assert [record.changes_world for record in records] == [False, True, False, True, False]
    assert ideals(records[1]) == {'a': 1.5, 'b': 0.0, 'c': 1.5}


def test_play_with_a_lost_region_creates_no_node_there(run, over_regions):
    """A lost region gets no new node until it is restored."""
    records = run(
        [
            {'scale_out': 6},
            {'lose_region': 'R2'},
            {'scale_out': 2},
            {'restore_region': 'R2'},
            {'scale_out': 2},
        ],
        **over_regions,
    )

    assert [held(record)['R2/a'] for record in records] == [3, 3, 3, 3, 5]
    assert ideals(records[1]) == {'R1/a': 3.0, 'R1/b': 3.0, 'R2/a': 0.0}


def test_play_with_a_lost_zone_of_one_region_affects_that_region_only(run, over_regions):
    """A zone named with its region is lost in that region, otherwise in all regions."""
    grow = {'scale_out': 2}

    alone = run([grow, {'lose_zone': 'R1/a'}, {'scale_out': 4}], **over_regions)[-1]
    everywhere = run([grow, {'lose_zone': 'a'}, {'scale_out': 4}], **over_regions)[-1]

    assert held(alone) == {'R1/a': 1, 'R1/b': 2, 'R2/a': 3}
    assert held(everywhere) == {'R1/a': 1, 'R1/b': 4, 'R2/a': 1}
    assert ideals(everywhere) == {'R1/a': 0.0, 'R1/b': 6.0, 'R2/a': 0.0}


def test_outages_name_places_that_were_available_before(over_regions):
    """A zone or region is an outage while it is unavailable, but not if it never was available."""
    raw = {'zones': {'a': True, 'b': False}, 'regions': over_regions['cloud']['regions']}
    cloud = ChangingCloud(Inventory.parse(raw, 'test'))
    assert cloud.outages == []

    cloud.set_zone('a', available=False)
    cloud.set_region('R2', known=False)
    lost = cloud.outages
    cloud.set_zone('a', available=True)

    assert lost == ['R1/a', 'R2', 'R2/a', 'a']
    assert cloud.outages == ['R2']


def test_outages_include_a_zone_that_was_available_in_between():
    """A zone that is lost again after its first return is an outage."""
    cloud = ChangingCloud(Inventory.parse({'zones': {'a': False}}, 'test'))

    cloud.set_zone('a', available=True)
    cloud.set_zone('a', available=False)

    assert cloud.outages == ['a']


def test_play_with_a_slash_in_a_zone_name_finds_the_zone(run):
    """A zone whose name contains a slash is lost with and without its region."""
    policies = [region_policy('R/1', 'R2'), zone_policy('hall/1', 'b')]
    zones = {'hall/1': True, 'b': True}
    cloud = {'regions': {'R/1': {'zones': zones}, 'R2': {'zones': zones}}}

    alone = run([{'lose_zone': 'R/1/hall/1'}, {'scale_out': 4}], policies, cloud=cloud)[-1]
    everywhere = run([{'lose_zone': 'hall/1'}, {'scale_out': 4}], policies, cloud=cloud)[-1]
    whole = run([{'lose_zone': 'hall/1'}, {'scale_out': 4}], policies[1:], cloud={'zones': zones})[
        -1
    ]

    assert held(alone) == {'R/1/hall/1': 0, 'R/1/b': 2, 'R2/hall/1': 1, 'R2/b': 1}
    assert held(everywhere) == {'R/1/hall/1': 0, 'R/1/b': 2, 'R2/hall/1': 0, 'R2/b': 2}
    assert held(whole) == {'hall/1': 0, 'b': 4}


def test_exhausted_zone_is_shaded_until_it_is_restored(over_regions):
    """The outages name a zone without capacity, in one region or in all."""
    cloud = ChangingCloud(Inventory.parse(over_regions['cloud'], 'test'))

    cloud.set_capacity('a', has_room=False)
    cloud.set_capacity('R2/b', has_room=False)

    assert cloud.outages == ['R2/b (no capacity)', 'a (no capacity)']
    assert not cloud.has_room('R1', 'a')
    assert not cloud.has_room('R2', 'b')
    assert cloud.has_room('R1', 'b')
    assert cloud.has_room('R1', None)
    cloud.set_capacity('a', has_room=True)
    assert cloud.has_room(None, 'a')
