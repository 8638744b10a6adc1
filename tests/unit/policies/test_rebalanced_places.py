"""The places of a cluster that is rebalanced."""

import datetime

import msgspec

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.model import Cluster
from placement_worker.planning.places import Cordon, Place
from placement_worker.planning.rebalancing import NO_WEIGHT, Holding
from placement_worker.planning.shortage import Shortage
from placement_worker.policies.rebalanced_places import Levels, layout
from tests.factories import node, request

SIZE = 5
UNTIL = datetime.datetime(2999, 12, 1, tzinfo=datetime.UTC)
SHORTAGE = Shortage(1, UNTIL, 0)
MEMBERS = [
    node(1, 'az1', 'R1'),
    node(2, 'az1', 'R1'),
    node(3, 'old', 'R1'),
    node(4, None, 'R1'),
    node(5, 'az1', 'R3'),
]


def laid_out(listed, staying=()):
    cluster = msgspec.convert(request('', [], MEMBERS)['cluster'], Cluster)
    return layout(cluster.nodes, staying, listed, Snapshot(Inventory(), cluster))


def ids(nodes):
    return [one.id for one in nodes]


def test_layout_by_zone_counts_all_regions():
    """Without region placement, the nodes of all regions count in their zones."""
    zones = [Place('az1'), Place('az2', available=False)]

    found = laid_out(Levels(None, {None: zones}), staying={'n2'})

    (region,) = found.regions
    assert region.zones == [
        Holding('az1', 100, 3, 1, 3 + SIZE, leaving=(None, None)),
        Holding('az2', 100, 0, 0, 0, 'unavailable'),
        Holding(None, NO_WEIGHT, 1, 1, 1, 'no known place'),
        Holding('old', NO_WEIGHT, 1, 0, 1, 'not listed', leaving=(None,)),
    ]
    assert ids(found.movable[None, 'az1']) == ['n1', 'n5']
    assert ids(found.unplaced) == ['n4']


def test_layout_by_region_does_not_divide_by_zone():
    """Region placement alone moves nodes between regions, whatever their zones are."""
    found = laid_out(Levels([Place('R1', cap=3), Place('R2')], {}))

    assert [region.holding for region in found.regions] == [
        Holding('R1', 100, 4, 0, 3, 'over its cap', leaving=(None,) * 4),
        Holding('R2', 100, 0, 0, SIZE),
        Holding('R3', NO_WEIGHT, 1, 0, 1, 'not listed', leaving=(None,)),
    ]
    assert ids(found.movable['R1', None]) == ['n1', 'n2', 'n3', 'n4']
    assert found.unplaced == []


def test_layout_by_both_divides_regions_that_have_a_listed_zone():
    """A region without a listed zone, and an unlisted region, are not divided."""
    regions = [Place('R1'), Place('R2', available=False), Place('R3', known=False)]
    zones = {'R1': [Place('az1')], 'R2': [Place('az1', known=False, available=False)]}

    found = laid_out(Levels(regions, {'R1': zones['R1']}))

    first, second, third = found.regions
    assert [zone.name for zone in first.zones] == ['az1', None, 'old']
    assert (first.holding.held, first.holding.fixed) == (4, 1)
    assert [zone.name for zone in second.zones] == [None]
    assert second.holding.most == 0
    assert (third.holding.weight, third.holding.held) == (NO_WEIGHT, 1)
    assert ids(found.unplaced) == ['n4']


def test_note_of_a_place_without_room_names_the_cause():
    """The note of a place that gets no node, or one at most, names the cause."""
    zones = [
        Place('az1').closed([Cordon(until=UNTIL, zone='az1')], 'cordoned'),
        Place('az2').closed([Cordon(until=UNTIL, zone='az2', evacuate=True)], 'evacuated'),
        Place('az3', available=False),
        Place('az4', known=False, available=False),
        Place('az5', cap=0),
        Place('az6', shortage=SHORTAGE),
    ]

    (region,) = laid_out(Levels(None, {None: zones})).regions

    assert [one.note for one in region.zones[: len(zones)]] == [
        'cordoned',
        'evacuated',
        'unavailable',
        'unknown to the cloud',
        'at its cap',
        str(SHORTAGE),
    ]
