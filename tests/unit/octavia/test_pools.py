"""The members of a pool: what an attempt to add them led to, and their keys."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import RequestExpired
from placement_worker.octavia.pools import NODE_TAG, Member, PoolMembers, key_of

TAGS = ['mine']


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
    numbers = range(1, count + 1)
    return [Member(f'n{number}', f'n{number}', f'10.0.0.{number}', 80) for number in numbers]


def test_additions_sort_members_by_owner_status_and_failure():
    """After an attempt to add, members are new, foreign, or failed with their causes."""
    listed = [
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'PENDING_UPDATE'),
        member('x', '10.0.0.3'),
        member('m4', '10.0.0.4', 'n4', 'ERROR'),
        member('m7', '10.0.0.7', 'n1'),
    ]
    members = PoolMembers(listed, TAGS, {'n1': (), 'n2': ()})
    busy = ApiError('busy', 503)

    result = members.additions(wanted(7), {('10.0.0.5', 80): busy, ('10.0.0.1', 80): busy})

    assert (result.added, result.foreign) == ({'n1': 'm1', 'n2': 'm2'}, {'n3': 'x'})
    assert result.failed == {
        'n4': 'the member is in ERROR',
        'n5': 'Octavia responded with status 503: busy',
        'n6': 'Octavia does not show the member',
        'n7': 'the member is in ACTIVE',
    }
    assert not result.expired
    expired = {('10.0.0.1', 80): RequestExpired('Request expired')}
    assert members.additions(wanted(1), expired).expired


@pytest.mark.parametrize(
    ('address', 'same'),
    [('FD00::0:1', 'fd00::1'), ('10.0.0.1', '10.0.0.1'), ('some.host', 'some.host')],
)
def test_key_is_the_same_for_all_notations_of_an_address(address, same):
    """Two notations of an IP address have one key; another string stays as it is."""
    assert Member('n1', 'n1', address, 80).key == (same, 80)
    assert key_of({'address': address, 'protocol_port': 81}) == (same, 81)
