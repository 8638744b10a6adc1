"""The order in which a rolling update renews members."""

from placement_worker.engines.heat.members import Member
from placement_worker.engines.heat.renewal import names_in_order

WEIGHTS = {'az1': 100, 'az2': 100, 'az3': 100}


def old(name, zone, **more):
    return Member(name, zone, is_outdated=True, **more)


def order(members, created=None, weights=WEIGHTS):
    zones = {member.name: member.zone for member in members}
    return names_in_order(members, weights, {**zones, **(created or {})}, list(created or {}))


def test_members_of_balanced_zones_keep_the_order_of_heat():
    """Without a surplus, the oldest members are renewed first."""
    assert order([old('a', 'az1'), old('b', 'az2'), old('c', 'az3')]) == ['a', 'b', 'c']


def test_member_beside_a_new_one_is_renewed_last():
    """The member that a new one makes superfluous in its zone stays outdated until it leaves."""
    members = [old('a', 'az1'), old('b', 'az2'), old('c', 'az3')]

    assert order(members, {'new': 'az1'}) == ['b', 'c', 'a']


def test_member_beside_a_renewed_one_is_renewed_last():
    """Renewed members count in their zone as new ones do."""
    members = [old('a', 'az1'), old('b', 'az2'), Member('current', 'az1')]

    assert order(members)[-1] == 'a'


def test_weights_decide_which_members_are_superfluous():
    """A zone of three times the weight keeps more members."""
    members = [old('a', 'az1'), old('b', 'az2'), old('c', 'az2')]

    assert order(members, weights={'az1': 100, 'az2': 300}) == ['b', 'a', 'c']


def test_failed_members_are_renewed_first():
    """A failed member serves no requests, so it is renewed before complete ones."""
    members = [old('a', 'az1'), old('b', 'az2'), old('f', 'az1', failed=True)]

    assert order(members)[0] == 'f'


def test_members_of_unlisted_zones_are_renewed_last():
    """A member in a zone that the group no longer has leaves first if there is a surplus."""
    assert order([old('a', 'gone'), old('b', None), old('c', 'az1')])[0] == 'c'


def test_victims_are_not_in_the_order():
    """Members that leave now are not renewed."""
    assert names_in_order([old('a', 'az1'), old('b', 'az2')], WEIGHTS, {'b': 'az2'}, []) == ['b']
