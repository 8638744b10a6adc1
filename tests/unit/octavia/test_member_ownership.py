"""Tests for the ownership of members."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import RequestExpired
from placement_worker.octavia import member_ownership
from placement_worker.octavia.member_ownership import NODE_TAG, Additions, Member, Ownership

OWN = Ownership(['cluster', 'policy'], frozenset({'n1', 'n2'}))


def member(member_id, address, node_id=None, status='ACTIVE'):
    tags = [*OWN.tags, NODE_TAG + node_id] if node_id else []
    return {
        'id': member_id,
        'address': address,
        'protocol_port': 80,
        'provisioning_status': status,
        'tags': tags,
    }


def wanted(node_id, address):
    return Member(node_id, node_id, address, 80)


def test_by_node_ignores_members_without_all_tags():
    """Only members with the tags of the policy belong to nodes."""
    foreign = {**member('m3', '10.0.0.3'), 'tags': [NODE_TAG + 'n1']}

    assert OWN.by_node([member('m1', '10.0.0.1', 'n1'), foreign]) == {'n1': {'m1'}}


def test_left_behind_returns_members_of_deleted_nodes():
    """Members of the policy whose nodes are not in the cluster are left behind."""
    shown = [
        member('m1', '10.0.0.1', 'n1'),
        member('m9', '10.0.0.9', 'n9'),
        member('x', '10.0.0.8'),
    ]

    assert OWN.left_behind(shown) == {('10.0.0.9', 80): 'm9'}


def test_compare_sorts_wanted_members_by_owner_and_status():
    """Wanted members are adopted, foreign or missing; one that is not ACTIVE is missing."""
    shown = [
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'ERROR'),
        member('x', '10.0.0.3'),
    ]
    asked = [wanted(f'n{number}', f'10.0.0.{number}') for number in range(1, 5)]

    present, missing = OWN.compare(asked, shown)

    assert (present.adopted, present.foreign) == ({'n1': 'm1'}, {'n3': 'x'})
    assert [one.node_id for one in missing] == ['n2', 'n4']


def test_note_added_sorts_members_by_owner_status_and_failure():
    """After an attempt to add, members are new, foreign, about to be ACTIVE, or failed."""
    shown = [
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'PENDING_UPDATE'),
        member('x', '10.0.0.3'),
        member('m4', '10.0.0.4', 'n4', 'ERROR'),
    ]
    asked = [wanted(f'n{number}', f'10.0.0.{number}') for number in range(1, 7)]
    result = Additions()

    OWN.note_added(result, asked, shown, {('10.0.0.5', 80): ApiError('busy', 503)})

    assert (result.added, result.foreign) == ({'n1': 'm1', 'n2': 'm2'}, {'n3': 'x'})
    assert result.failed == {
        'n4': 'the member is in ERROR',
        'n5': 'Octavia responded with status 503: busy',
        'n6': 'Octavia does not show the member',
    }
    assert not result.expired


def test_note_added_after_expiry_reports_it():
    """The outcome of an expired request says that it expired."""
    result = Additions()

    OWN.note_added(
        result,
        [wanted('n1', '10.0.0.1')],
        [],
        {('10.0.0.1', 80): RequestExpired('Request expired')},
    )

    assert result.expired


def test_bodies_have_the_tags_of_policy_and_node():
    """A new member carries the tags of the policy and of its node."""
    bodies = OWN.bodies([wanted('n1', '10.0.0.1')], 'sub1')

    body = bodies['10.0.0.1', 80]
    assert body['tags'] == ['cluster', 'policy', 'placement-worker:node=n1']
    assert (body['address'], body['subnet_id']) == ('10.0.0.1', 'sub1')


@pytest.mark.parametrize(
    ('address', 'same'),
    [('FD00::0:1', 'fd00::1'), ('10.0.0.1', '10.0.0.1'), ('some.host', 'some.host')],
)
def test_key_is_the_same_for_all_notations_of_an_address(address, same):
    """Two notations of an IP address have one key; another string stays as it is."""
    assert Member('n1', 'n1', address, 80).key == (same, 80)


def test_by_key_indexes_members_by_address_and_port():
    """Members of one address with two ports are two entries."""
    members = [{'address': '10.0.0.1', 'protocol_port': port} for port in (80, 81)]

    assert member_ownership.by_key(members) == {
        ('10.0.0.1', 80): members[0],
        ('10.0.0.1', 81): members[1],
    }


def test_duplicates_name_the_earlier_node_of_each_address():
    """Each later node with an address and port of an earlier one is mapped to that node."""
    members = [
        Member('n1', 'one', 'fd00::1', 80),
        Member('n2', 'two', 'fd00:0::1', 80),
        Member('n3', 'three', 'fd00::1', 81),
        Member('n4', 'four', 'FD00::1', 80),
    ]

    assert member_ownership.duplicates(members) == {'n2': 'n1', 'n4': 'n1'}
