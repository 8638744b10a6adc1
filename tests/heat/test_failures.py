"""Members fail, and zones have no room."""

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.cloud import computes
from tests.cloud.background import at_once
from tests.heat.stacks import Stack, create_together, until
from tests.heat.templates import ZONES

# Heat's only sign of a signal that it refuses during another one.
REFUSED = 'is already in scaling'
# Heat's sign of a signal that an engine handles.
HANDLED = 'grow alarm, adjusting group'
# How often two signals are sent at most; a group has room for as many members.
TRIES = 4


@pytest.mark.parametrize('outage', [computes.full, computes.down])
def test_retry_of_a_zone_without_room_goes_elsewhere(cloud, outage):
    """A member that found no host in its zone is created in another one by the next signal."""
    group = Stack(cloud).create(1)
    (first,) = group.members()
    assert first.zone == 'az1'

    with outage(cloud.connect('admin'), ['compute2']):
        group.signal('grow')
        until(group.failed_signals)
        failed = group.failed_members()
        group.signal('grow')
        group.wait_for_size(2)

    assert 'No valid host was found' in group.failed_signals()[0]
    (other,) = set(group.members()) - {first}
    assert [other.name] == failed
    assert other.zone == 'az3'


def test_unhealthy_members_leave_first_or_are_replaced(cloud):
    """A member that was marked as unhealthy leaves before older ones, or gets another server.

    The server is in the zone of the old one, since that has the fewest members.
    """
    shrinking, healing = Stack(cloud), Stack(cloud)
    create_together([shrinking, healing], 3)
    youngest = max(shrinking.rows(), key=lambda row: (row['creation_time'], row['resource_name']))
    before = healing.members()

    shrinking.mark_unhealthy(youngest['resource_name'])
    shrinking.send_update(desired_capacity=2)
    healing.mark_unhealthy(before[0].name)
    healing.update()
    shrinking.wait_for_update()

    assert youngest['resource_name'] not in [row['resource_name'] for row in shrinking.rows()]
    assert len(shrinking.members()) == 2
    after = healing.members()
    assert after[0].server != before[0].server
    assert after[1:] == before[1:]
    assert [member.zone for member in after] == [member.zone for member in before]


def test_unhealthy_member_of_an_unavailable_zone_is_replaced_elsewhere(cloud):
    """A signal creates an unhealthy member in another zone while its own is unavailable.

    Heat's size leaves out unhealthy members, so the signal only replaces the member. Updates are
    refused, because the group lists an unavailable zone.
    """
    group = Stack(cloud).create(2)
    (lost,) = [member for member in group.members() if member.zone == 'az2']

    with computes.disabled(cloud.connect('admin'), ['compute2']):
        with pytest.raises(BadRequest, match='no usable availability zone'):
            group.send_update()
        group.mark_unhealthy(lost.name)
        group.scale('grow', 2)

    (moved,) = [member for member in group.members() if member.name == lost.name]
    assert moved.zone == 'az3'


def test_two_signals_at_once_on_two_engines_leave_a_balanced_group(cloud):
    """Two engines that handle signals at once leave only members that Heat knows, balanced."""
    group = Stack(cloud).create(1)

    assert any(signal_twice(cloud, group) == 2 for _ in range(TRIES)), 'always one engine'
    group.wait_for_size(len(group.rows()))

    zones = group.zones()
    assert max(zones.values()) - min(zones[zone] for zone in ZONES) <= 1
    assert len(group.members()) == len(group.rows())


def signal_twice(cloud, group):
    """Send two signals at once; return how many engines handled them when both have ended.

    The broker gives consecutive requests to different engines, unless the engines themselves send
    a request in between.
    """
    engines = cloud.engine.engines.values()
    before = [engine.log.read_text() for engine in engines]
    completed = group.completed_signals('grow')

    def new_logs():
        return [
            engine.log.read_text().removeprefix(log)
            for engine, log in zip(engines, before, strict=True)
        ]

    def ended():
        refused = sum(log.count(REFUSED) for log in new_logs())
        return group.completed_signals('grow') - completed + refused == 2

    at_once([lambda: group.signal('grow')] * 2)
    until(ended)
    return sum(HANDLED in log for log in new_logs())
