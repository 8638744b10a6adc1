"""The members of a pool: whose they are, and what an attempt to add them led to."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import RequestExpired
from placement_worker.octavia.pools import NODE_TAG, Additions, Member, Members, key_of

TAGS = ['mine']


def listed(*members):
    return Members(members, TAGS, frozenset({'n1', 'n2'}))


def member(member_id, address, node_id=None, status='ACTIVE'):
    tags = [*TAGS, NODE_TAG + node_id] if node_id else []
    return {
        'id': member_id,
        'address': address,
        'protocol_port': 80,
        'provisioning_status': status,
        'tags': tags,
    }


def wanted(count):
    """Return members n1 at 10.0.0.1 and so on."""
    numbers = range(1, count + 1)
    return [Member(f'n{number}', f'n{number}', f'10.0.0.{number}', 80) for number in numbers]


def test_of_node_returns_tagged_and_stored_members_that_are_present():
    """A node may have its stored member, tagged ones, or both."""
    members = listed(member('m1', '10.0.0.1', 'n1'), member('m2', '10.0.0.2'))

    assert members.of_node('n1', 'm2') == {'m1', 'm2'}
    assert members.of_node('n1', 'gone') == {'m1'}
    assert members.of_node('n2', None) == set()


def test_compare_sorts_wanted_members_by_owner_and_status():
    """Wanted members are adopted, foreign or missing; one that is not ACTIVE is missing."""
    members = listed(
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'ERROR'),
        member('x', '10.0.0.3'),
        member('m5', '10.0.0.5', 'n9'),
    )

    present, missing = members.compare(wanted(5))

    assert (present.adopted, present.foreign) == ({'n1': 'm1', 'n5': 'm5'}, {'n3': 'x'})
    assert [one.node_id for one in missing] == ['n2', 'n4']


def test_note_added_sorts_members_by_owner_status_and_failure():
    """After an attempt to add, members are new, foreign, about to be ACTIVE, or failed."""
    members = listed(
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'PENDING_UPDATE'),
        member('x', '10.0.0.3'),
        member('m4', '10.0.0.4', 'n4', 'ERROR'),
    )
    result = Additions()

    members.note_added(result, wanted(6), {('10.0.0.5', 80): ApiError('busy', 503)})

    assert (result.added, result.foreign) == ({'n1': 'm1', 'n2': 'm2'}, {'n3': 'x'})
    assert result.failed == {
        'n4': 'the member is in ERROR',
        'n5': 'Octavia responded with status 503: busy',
        'n6': 'Octavia does not show the member',
    }
    assert not result.expired
    members.note_added(result, wanted(1), {('10.0.0.1', 80): RequestExpired('Request expired')})
    assert result.expired


@pytest.mark.parametrize(
    ('address', 'same'),
    [('FD00::0:1', 'fd00::1'), ('10.0.0.1', '10.0.0.1'), ('some.host', 'some.host')],
)
def test_key_is_the_same_for_all_notations_of_an_address(address, same):
    """Two notations of an IP address have one key; another string stays as it is."""
    assert Member('n1', 'n1', address, 80).key == (same, 80)
    assert key_of({'address': address, 'protocol_port': 81}) == (same, 81)
