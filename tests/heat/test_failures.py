"""Members fail, and zones have no room."""

from tests.cloud import computes
from tests.heat.heat_cloud import HeatCloud
from tests.heat.stacks import STACK_S, Stack
from tests.waiting import wait_for

REFUSED = 'is already in scaling'
"""Heat's only sign of a signal that it refuses during another one."""


def test_retry_of_a_full_zone_goes_elsewhere(cloud: HeatCloud) -> None:
    """A member that found no host in its zone is created in another one by the next signal."""
    group = Stack(cloud).create(1)
    (first,) = group.members()
    assert first.zone == 'az1'

    with computes.full(cloud.connect('admin'), ['compute2']):
        group.signal('grow')
        wait_for(group.failed_signals)
        failed = group.failed_members()
        group.signal('grow')
        group.wait_for_complete(2)

    assert 'No valid host was found' in group.failed_signals()[0]
    (other,) = set(group.members()) - {first}
    assert [other.name] == failed
    assert other.zone == 'az3'


def test_unhealthy_member_leaves_first(cloud: HeatCloud) -> None:
    """A member that was marked as unhealthy leaves before older ones."""
    group = Stack(cloud).create(3)
    youngest = max(group.rows(), key=lambda row: (row['creation_time'], row['resource_name']))

    group.mark_unhealthy(youngest['resource_name'])
    group.update(desired_capacity=2)

    assert youngest['resource_name'] not in [row['resource_name'] for row in group.rows()]
    assert len(group.members()) == 2


def test_unhealthy_member_is_replaced_in_its_zone(cloud: HeatCloud) -> None:
    """An update replaces the server of an unhealthy member, and keeps its zone."""
    group = Stack(cloud).create(2)
    before = group.members()[0]

    group.mark_unhealthy(before.name)
    group.update()

    (after,) = [member for member in group.members() if member.name == before.name]
    assert after.server != before.server
    assert after.zone == before.zone


def test_two_signals_at_once_leave_a_balanced_group(cloud: HeatCloud) -> None:
    """Signals that two engines handle at once leave only members that Heat knows, balanced."""
    group = Stack(cloud).create(3)
    refused = cloud.engine_logs().count(REFUSED)

    def ended() -> bool:
        done = [one for one in group.events('grow3') if one['resource_status'] == 'SIGNAL_COMPLETE']
        return len(done) + cloud.engine_logs().count(REFUSED) - refused == 2

    group.signal('grow3')
    group.signal('grow3')
    wait_for(ended, STACK_S)
    group.wait_for_complete(len(group.rows()))

    zones = group.zones()
    assert max(zones.values()) - min(zones.values()) <= 1
    assert len(group.members()) == len(group.rows())
