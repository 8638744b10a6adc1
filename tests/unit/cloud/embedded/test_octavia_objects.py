"""The objects of the simulated Octavia as plain data."""

import pytest

from placement_worker.cloud.embedded.octavia_objects import (
    VIP_WITHOUT_SUBNET,
    OctaviaObjects,
    member_key,
    operating_status,
    vip_address,
    with_defaults,
)
from placement_worker.cloud.ports import ApiError


def test_put_in_equal_order_gives_equal_ids():
    """Ids depend only on the number of objects created before, so runs are reproducible."""
    ids = [
        [OctaviaObjects(data).put('pool', {'name': name}, lb='lb1')['id'] for name in 'ab']
        for data in ({}, {})
    ]

    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_get_of_missing_object_raises_not_found():
    """A lookup of a missing object fails with status 404 and names kind and id."""
    with pytest.raises(ApiError, match=r'^Pool p1 not found\.$') as failed:
        OctaviaObjects({}).get('pool', 'p1')

    assert failed.value.status == 404


def test_shown_load_balancer_lists_its_children():
    """A load balancer is shown with the ids of its own listeners and pools only."""
    objects = OctaviaObjects({})
    first, second = (objects.put('loadbalancer', {'name': name}) for name in 'ab')
    pool = objects.put('pool', {}, lb=first['id'])

    assert objects.shown('loadbalancer', first)['pools'] == [{'id': pool['id']}]
    assert objects.shown('loadbalancer', second)['pools'] == []
    assert 'lb' not in objects.shown('pool', pool)


def test_drop_orphans_deletes_members_of_deleted_pools():
    """Members do not outlive their pool."""
    objects = OctaviaObjects({})
    objects.put_member(objects.members('gone'), {'address': '10.0.0.1', 'protocol_port': 80})

    objects.drop_orphans()

    assert objects.data['members'] == {}


def test_with_defaults_keeps_given_values():
    """Default values fill only the keys that a member omits."""
    member = with_defaults({'address': '10.0.0.1', 'protocol_port': 80, 'weight': 0})

    assert (member['weight'], member['backup']) == (0, False)
    assert member_key(member) == ('10.0.0.1', 80)


@pytest.mark.parametrize(
    ('cidr', 'number', 'address'),
    [
        (None, 0, VIP_WITHOUT_SUBNET),
        ('10.0.0.0/24', 0, '10.0.0.254'),
        ('10.0.0.0/24', 1, '10.0.0.253'),
        ('10.0.0.0/30', 1, '10.0.0.2'),
    ],
)
def test_vip_address_lies_within_subnet(cidr, number, address):
    """Virtual IPs are counted down from the end of the subnet."""
    assert vip_address(cidr, number) == address


@pytest.mark.parametrize(
    ('body', 'found', 'expected'),
    [
        ({}, {}, 'ONLINE'),
        ({}, None, 'NO_MONITOR'),
        ({}, {'10.0.0.1': 'ERROR'}, 'ERROR'),
        ({}, {'10.0.0.2': 'ERROR'}, 'ONLINE'),
        ({'weight': 0}, {}, 'DRAINING'),
        ({'weight': 0}, None, 'DRAINING'),
        ({'admin_state_up': False}, {'10.0.0.1': 'ERROR'}, 'OFFLINE'),
    ],
)
def test_operating_status_depends_on_monitor_weight_and_state(body, found, expected):
    """A health monitor finds the status, unless the member is disabled or has weight 0."""
    member = with_defaults({'address': '10.0.0.1', 'protocol_port': 80, **body})

    assert operating_status(member, found) == expected
