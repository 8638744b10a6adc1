"""The next content of a group, by a chooser that records what it is asked."""

import itertools

import pytest

from placement_worker.engines.heat.members import Member
from placement_worker.engines.heat.plans import plan

FAILED = Member('failed', 'az1', failed=True, needs_zone=True)
ONE, TWO, THREE = Member('one', 'az1'), Member('two', 'az2'), Member('three', 'az3')


class Chooser:
    """Choose the last members and a zone of its own; record each question."""

    def __init__(self):
        self.asked = []

    def victims(self, members, count):
        self.asked.append(('victims', [member.name for member in members], count))
        return [member.name for member in members[-count:]]

    def zones(self, members, count):
        self.asked.append(('zones', [member.name for member in members], count))
        return ['new-zone'] * count


@pytest.fixture
def chooser():
    return Chooser()


def planned(members, size, chooser):
    names = (f'new{i}' for i in itertools.count(1))
    return plan(members, size, chooser, names.__next__)


def test_growth_asks_for_zones_of_new_members(chooser):
    """New members get the zones of the chooser; existing ones keep theirs."""
    found = planned([ONE], 3, chooser)

    assert chooser.asked == [('zones', ['one'], 2)]
    assert found.created == ['new1', 'new2']
    assert found.zones == {'one': 'az1', 'new1': 'new-zone', 'new2': 'new-zone'}


def test_shrinkage_asks_for_victims(chooser):
    """The victims of the chooser leave; the others keep their zones."""
    found = planned([ONE, TWO, THREE], 1, chooser)

    assert chooser.asked == [('victims', ['one', 'two', 'three'], 2)]
    assert found.victims == ['two', 'three']
    assert found.zones == {'one': 'az1'}


def test_same_size_asks_nothing(chooser):
    """A group that has its size needs no choice."""
    found = planned([ONE, TWO], 2, chooser)

    assert chooser.asked == []
    assert found.zones == {'one': 'az1', 'two': 'az2'}


def test_member_to_create_again_gets_another_zone(chooser):
    """A retry asks again for a member that Heat creates again, whatever the size."""
    found = planned([FAILED, TWO], 2, chooser)

    assert chooser.asked == [('zones', ['failed', 'two'], 1)]
    assert found.created == []
    assert found.zones == {'failed': 'new-zone', 'two': 'az2'}


def test_shrinkage_places_failed_members_that_remain(chooser):
    """Failed members that stay get a zone after the victims are known."""
    found = planned([FAILED, ONE, TWO], 2, chooser)

    assert chooser.asked == [
        ('victims', ['failed', 'one', 'two'], 1),
        ('zones', ['failed', 'one'], 1),
    ]
    assert found.zones == {'failed': 'new-zone', 'one': 'az1'}


def test_size_of_zero_removes_all(chooser):
    """A group without members has no zones."""
    found = planned([ONE], 0, chooser)

    assert (found.victims, found.created, found.zones) == (['one'], [], {})
