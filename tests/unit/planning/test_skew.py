"""The skew of a plan, and the words for its causes."""

import datetime

import pytest

from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.planning.placement import plan_for
from placement_worker.planning.places import Cordon, Held, Place
from placement_worker.planning.shortage import Shortage
from placement_worker.planning.sizing import Size
from placement_worker.planning.skew import excessive_skew

A, B, C = Place('az1'), Place('az2'), Place('az3')
LOST = Place('az2', available=False)
CORDON = Cordon(
    zone='az2', until=datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC), reason='x', evacuate=True
)
SHORTAGE = Shortage(1, CORDON.until, 0)
HEALTHY = ({}, {})  # no unhealthy nodes, and none that were never created


def skew_of(kind, places, groups, count, staying=None, allowed=1):
    """Return the skew of the best plan."""
    held = Held(groups, staying or {})
    plan = plan_for(Size(kind, count), places, held)
    return excessive_skew(kind, allowed, places, plan, held)


def grown(places, held, count, **more):
    """Return the skew of the best plan for a creation."""
    return skew_of(CREATION, places, [held], count, **more)


def shrunk(places, held, count, first=HEALTHY, **more):
    """Return the skew of the best plan for a deletion."""
    return skew_of(DELETION, places, [*first, held], count, **more)


STRANGE = Place('az2', known=False, available=False)
LOST_TOO = Place('az3', available=False)
NO_ZONE, NO_ZONES = (Place(name, available=False, note='no usable zone') for name in ('az2', 'az3'))
SMALL, SMALL_TOO = Place('az2', cap=2), Place('az3', cap=2)


@pytest.mark.parametrize(
    ('places', 'held', 'count', 'numbers', 'causes'),
    [
        ([A, LOST, C], {}, 18, 'az1: 9 of 6.0', 'zone az2 is unavailable'),
        ([A, LOST, LOST_TOO], {}, 9, 'az1: 9 of 3.0', 'zones az2 and az3 are unavailable'),
        ([A, STRANGE], {}, 4, 'az1: 4 of 2.0', 'zone az2 is unknown to the cloud'),
        ([A, NO_ZONE], {}, 4, 'az1: 4 of 2.0', 'zone az2 has no usable zone'),
        ([A, NO_ZONE, NO_ZONES], {}, 6, 'az1: 6 of 2.0', 'zones az2 and az3 have no usable zone'),
        (
            [A, B.cordoned(CORDON)],
            {},
            4,
            'az1: 4 of 2.0',
            'zone az2 is cordoned until 2026-12-01 (x)',
        ),
        (
            [A, Place('az2', shortage=SHORTAGE)],
            {},
            4,
            'az1: 4 of 2.0',
            'zone az2 is short of capacity until 2026-12-01',
        ),
        ([A, SMALL], {}, 8, 'az1: 6 of 4.0', 'zone az2 is at its cap'),
        ([A, SMALL, SMALL_TOO], {}, 12, 'az1: 8 of 4.0', 'zones az2 and az3 are at their caps'),
        ([A, SMALL], {'az2': 3}, 7, 'az1: 7 of 5.0', 'zone az2 is over its cap'),
        ([A, B], {'az1': 9}, 1, 'az1: 9 of 5.0', 'existing nodes of zone az1 are not moved'),
        (
            [A, LOST, C],
            {'az1': 9},
            3,
            'az1: 9 of 4.0',
            'existing nodes of zone az1 are not moved; zone az2 is unavailable',
        ),
        ([A, LOST, C], {}, 4, 'az2: 0 of 1.33', 'zone az2 is unavailable'),
    ],
)
def test_skew_of_a_creation_names_the_worst_place_and_the_causes(
    places, held, count, numbers, causes
):
    """The sentence has the numbers of the fullest place, and what keeps others from their share."""
    zone, nodes = numbers.split(': ')
    number, ideal = nodes.split(' of ')

    assert grown(places, held, count).explained('zone') == (
        f'Zone {zone} would hold {number} nodes, ideal {ideal}, allowed skew 1: {causes}'
    )


@pytest.mark.parametrize(
    ('places', 'held', 'count', 'more', 'cause'),
    [
        ([A, B], {'az1': 12, 'az2': 2}, 1, {}, 'a deletion adds no nodes to zone az2'),
        ([A, B, C], {'az1': 9}, 1, {}, 'a deletion adds no nodes to zones az2 and az3'),
        ([A, LOST], {'az1': 9, 'az2': 2}, 1, {}, 'a deletion adds no nodes to zone az2'),
        ([A, B], {'az2': 6}, 6, {'staying': {'az1': 6}}, 'protected nodes of zone az1 stay'),
        (
            [A, B],
            {'az1': 6},
            3,
            {'first': ({'az2': 6}, {})},
            'unhealthy nodes and nodes that were never created leave first',
        ),
        ([A, SMALL], {'az1': 9, 'az2': 4}, 1, {}, 'zone az2 is over its cap'),
        (
            [A, B.cordoned(CORDON)],
            {'az1': 5, 'az2': 5},
            4,
            {},
            'zone az2 is cordoned until 2026-12-01 (x)',
        ),
        ([A, STRANGE], {'az1': 5, 'az2': 5}, 4, {}, 'zone az2 is unknown to the cloud'),
    ],
)
def test_skew_of_a_deletion_names_the_causes(places, held, count, more, cause):
    """A deletion adds no nodes, and has an order; an unavailable zone is like all others."""
    assert shrunk(places, held, count, **more).explained('zone').endswith(f'skew 1: {cause}')


def test_skew_that_only_rounding_explains_blames_the_weights():
    """Many places of little weight round up, which leaves too few nodes to a heavy one."""
    places = [Place('big', 940), *(Place(f'z{i}', 60) for i in range(5))]

    assert grown(places, {}, 12).explained('zone') == (
        'Zone big would hold 8 nodes, ideal 9.1, allowed skew 1: the weights allow no better plan'
    )


def test_skew_shows_hostile_names_on_one_line():
    """Names come from a spec, so control characters in them are escaped and long ones cut."""
    found = grown([Place('a\n' + 'x' * 99), Place('\x1b', available=False)], {}, 4)
    sentence = found.explained('zone')

    assert sentence.isprintable()
    assert len(sentence) < 200


def test_skew_names_the_first_of_many_causes():
    """Five places are named, and the others are counted."""
    lost = [Place(f'z{i}', available=False) for i in range(7)]

    sentence = grown([A, *lost], {}, 16).explained('zone')
    assert sentence.endswith(': zones z0, z1, z2, z3, z4 and 2 more are unavailable')
