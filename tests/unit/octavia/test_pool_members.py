"""Tests for relating members to nodes."""

import pytest

from placement_worker.octavia.pool_members import NODE_TAG, Ownership, status_text, without
from placement_worker.planning.pool_difference import Member

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


def test_body_has_the_tags_of_policy_and_node():
    """A new member carries the tags of the policy and of its node."""
    body = OWN.body(wanted('n1', '10.0.0.1'), 'sub1')

    assert body['tags'] == ['cluster', 'policy', 'placement-worker:node=n1']
    assert (body['address'], body['subnet_id']) == ('10.0.0.1', 'sub1')


def test_without_keeps_the_attributes_of_the_other_members():
    """The bodies of a batch omit the removed members and read-only attributes."""
    bodies = without([member('m1', '10.0.0.1'), member('m2', '10.0.0.2')], ['m1'])

    assert bodies == [{'address': '10.0.0.2', 'protocol_port': 80, 'tags': []}]


@pytest.mark.parametrize(
    ('shown', 'text'),
    [
        (None, 'Octavia does not show the member'),
        (member('m1', '10.0.0.1', status='ERROR'), 'the member is in ERROR'),
    ],
)
def test_status_text_names_the_status(shown, text):
    """The text names the status of a member, or its absence."""
    assert status_text(shown) == text
