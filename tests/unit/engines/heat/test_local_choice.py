"""The choice without a worker."""

from placement_worker.engines.heat.local_choice import LocalChooser
from placement_worker.engines.heat.members import Member

ZONES = [{'name': 'az1'}, {'name': 'az2', 'weight': 100}]


def test_local_victims_are_the_first_members():
    """Without a worker, members leave in Heat's own order."""
    members = [Member(name, 'az1') for name in 'abc']

    assert LocalChooser(ZONES).victims(members, 2) == ['a', 'b']


def test_local_zones_balance_with_the_members_that_are_left():
    """Without a worker, new members go to the zones with the fewest members."""
    members = [Member('a', 'az1'), Member('b', 'az1'), Member('c', 'unlisted')]

    assert LocalChooser(ZONES).zones(members, 3) == ['az2', 'az2', 'az1']


def test_local_zones_ignore_members_to_create_again():
    """A member that Heat creates again takes no room in its zone."""
    members = [Member('a', 'az1', failed=True, needs_zone=True)]

    assert LocalChooser(ZONES).zones(members, 1) == ['az1']


def test_local_zones_follow_weights():
    """A zone of three times the weight gets three of four members."""
    chooser = LocalChooser([{'name': 'az1', 'weight': 100}, {'name': 'az2', 'weight': 300}])

    assert chooser.zones([], 4).count('az2') == 3


def test_local_zones_of_no_known_zone_are_empty():
    """Zones that another resource gives are unknown when Heat validates the template."""
    assert LocalChooser([]).zones([], 2) == ['', '']
