"""The worker is away: every action ends with a clear reason, and members stay."""

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.heat.heat_cloud import HeatCloud
from tests.heat.stacks import Stack, without_worker
from tests.waiting import wait_for

NO_REPLY = 'No worker replied on topic placement-worker'


@pytest.fixture(scope='module')
def group(cloud: HeatCloud) -> Stack:
    """A group with two members."""
    return Stack(cloud).create(2)


def test_validation_without_worker_is_refused(group: Stack, cloud: HeatCloud) -> None:
    """A new stack and an update are refused with the cause; members stay."""
    before = group.members()

    with without_worker(cloud):
        with pytest.raises(BadRequest, match=NO_REPLY):
            Stack(cloud).create(1)
        with pytest.raises(BadRequest, match=NO_REPLY):
            group.send_update(desired_capacity=3)

    group.properties['desired_capacity'] = 2
    assert group.members() == before


def test_signal_without_worker_leaves_an_event(group: Stack, cloud: HeatCloud) -> None:
    """A signal without a worker writes an event and changes nothing; the next one succeeds."""
    before = group.members()

    with without_worker(cloud):
        group.signal('grow')
        wait_for(group.failed_signals)

    assert NO_REPLY in group.failed_signals()[0]
    assert group.members() == before
    group.scale('grow', 3)
    assert set(before) < set(group.members())


def test_create_without_worker_fails_with_its_reason(cloud: HeatCloud) -> None:
    """A worker that is away only after the validation fails the group with the cause."""
    group = Stack(cloud)
    group.delay_group()

    group.send_create(1)
    with without_worker(cloud):
        group.wait_for('CREATE_FAILED')

    assert NO_REPLY in group.show()['stack_status_reason']
    assert group.members() == []


@pytest.mark.parametrize(('before', 'after'), [(1, 3), (3, 1)])
def test_rollback_needs_no_worker(cloud: HeatCloud, before: int, after: int) -> None:
    """A rollback restores the size without a worker; new members are spread over the zones."""
    group = Stack(cloud).create(before)
    group.fail_after_group()

    group.send_update(desired_capacity=after)
    group.wait_for_size(after)
    with without_worker(cloud):
        group.wait_for('ROLLBACK_COMPLETE')

    assert len(group.members()) == before
    assert set(group.zones().values()) == {1}
