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
LOST = Place('az2', available=False, note='unavailable')
CORDON = Cordon(
    zone='az2', until=datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC), reason='x', evacuate=True
)
SHORTAGE = Shortage(1, CORDON.until, 0)
UNHEALTHY_FIRST = 'unhealthy nodes and nodes that were never created leave first'


def skew_of(kind, places, groups, count, staying=None):
    held = Held(groups, staying or {})
    plan = plan_for(Size(kind, count), places, held)
    return excessive_skew(kind, 1, places, plan, held)


STRANGE = Place('az2', known=False, available=False)
LOST_TOO = Place('az3', available=False, note='unavailable')
NO_ZONE, NO_ZONES = (Place(name, available=False, note='no usable zone') for name in ('az2', 'az3'))
SMALL, SMALL_TOO = Place('az2', cap=2), Place('az3', cap=2)
CORDONED, SHORT = B.cordoned(CORDON), Place('az2', shortage=SHORTAGE)
UNTIL_DECEMBER = 'cordoned until 2026-12-01 (x)'
LIGHT = [Place(f'z{i}', 60) for i in range(5)]
MANY_LOST = [Place(f'z{i}', available=False, note='unavailable') for i in range(7)]
FIRST_FIVE = 'z0, z1, z2, z3, z4 and 2 more'
NOT_MOVED = 'existing nodes of zone az1 are not moved'


@pytest.mark.parametrize(
    ('places', 'held', 'count', 'numbers', 'causes'),
    [
        ([A, LOST, C], {}, 18, 'az1: 9 of 6.0', 'zone az2 is unavailable'),
        ([A, LOST, LOST_TOO], {}, 9, 'az1: 9 of 3.0', 'zones az2 and az3 are unavailable'),
        ([A, STRANGE], {}, 4, 'az1: 4 of 2.0', 'zone az2 is unknown to the cloud'),
        ([A, NO_ZONE], {}, 4, 'az1: 4 of 2.0', 'zone az2 has no usable zone'),
        ([A, NO_ZONE, NO_ZONES], {}, 6, 'az1: 6 of 2.0', 'zones az2 and az3 have no usable zone'),
        ([A, CORDONED], {}, 4, 'az1: 4 of 2.0', f'zone az2 is {UNTIL_DECEMBER}'),
        ([A, SHORT], {}, 4, 'az1: 4 of 2.0', 'zone az2 is short of capacity until 2026-12-01'),
        ([A, SMALL], {}, 8, 'az1: 6 of 4.0', 'zone az2 is at its cap'),
        ([A, SMALL, SMALL_TOO], {}, 12, 'az1: 8 of 4.0', 'zones az2 and az3 are at their caps'),
        ([A, SMALL], {'az2': 3}, 7, 'az1: 7 of 5.0', 'zone az2 is over its cap'),
        ([A, B], {'az1': 9}, 1, 'az1: 9 of 5.0', NOT_MOVED),
        ([A, LOST, C], {'az1': 9}, 3, 'az1: 9 of 4.0', f'{NOT_MOVED}; zone az2 is unavailable'),
        ([A, LOST, C], {}, 4, 'az2: 0 of 1.33', 'zone az2 is unavailable'),
        # Many places of little weight round up, which leaves too few nodes to a heavy one.
        ([Place('big', 940), *LIGHT], {}, 12, 'big: 8 of 9.1', 'the weights allow no better plan'),
        # Five places are named, and the others are counted.
        ([A, *MANY_LOST], {}, 16, 'az1: 16 of 2.0', f'zones {FIRST_FIVE} are unavailable'),
    ],
)
def test_skew_of_a_creation_names_the_worst_place_and_the_causes(
    places, held, count, numbers, causes
):
    """The sentence has the numbers of the fullest place, and what keeps others from their share."""
    zone, nodes = numbers.split(': ')
    number, ideal = nodes.split(' of ')

    assert skew_of(CREATION, places, [held], count).explained('zone') == (
        f'Zone {zone} would hold {number} nodes, ideal {ideal}, allowed skew 1: {causes}'
    )


@pytest.mark.parametrize(
    ('places', 'groups', 'count', 'staying', 'cause'),
    [
        ([A, B], [{'az1': 12, 'az2': 2}], 1, {}, 'a deletion adds no nodes to zone az2'),
        ([A, B, C], [{'az1': 9}], 1, {}, 'a deletion adds no nodes to zones az2 and az3'),
        ([A, LOST], [{'az1': 9, 'az2': 2}], 1, {}, 'a deletion adds no nodes to zone az2'),
        ([A, B], [{'az2': 6}], 6, {'az1': 6}, 'protected nodes of zone az1 stay'),
        ([A, B], [{'az2': 6}, {'az1': 6}], 3, {}, UNHEALTHY_FIRST),
        ([A, SMALL], [{'az1': 9, 'az2': 4}], 1, {}, 'zone az2 is over its cap'),
        ([A, CORDONED], [{'az1': 5, 'az2': 5}], 4, {}, f'zone az2 is {UNTIL_DECEMBER}'),
        ([A, STRANGE], [{'az1': 5, 'az2': 5}], 4, {}, 'zone az2 is unknown to the cloud'),
    ],
)
def test_skew_of_a_deletion_names_the_causes(places, groups, count, staying, cause):
    """A deletion adds no nodes, and has an order; an unavailable zone is like all others."""
    skew = skew_of(DELETION, places, groups, count, staying)

    assert skew.explained('zone').endswith(f'skew 1: {cause}')


def test_skew_shows_hostile_names_on_one_line():
    """Names come from a spec, so control characters in them are escaped and long ones cut."""
    places = [Place('a\n' + 'x' * 99), Place('\x1b', available=False, note='unavailable')]

    sentence = skew_of(CREATION, places, [{}], 4).explained('zone')

    assert sentence.isprintable()
    assert len(sentence) < 200
