"""No worker responds: every action ends with a clear reason, and members stay."""

import re

import pytest

from tests.heat.outages import ROLLBACKS, SIZE, ChangingGroups, hung_broker, no_worker

NO_REPLY = re.compile('No worker replied|No broker responded|could not be delivered')


@pytest.fixture(scope='module', params=[no_worker, hung_broker], ids=['no-worker', 'hung-broker'])
def groups(request, cloud):
    """The groups after an outage."""
    changing = ChangingGroups(cloud)
    with request.param(cloud):
        changing.go_on()
        changing.wait()
    return changing


def test_validation_without_reply_is_refused(groups):
    """A new stack and an update are refused with the cause."""
    assert all(NO_REPLY.search(message) for message in groups.refusals)


def test_creation_without_reply_fails_with_its_reason(groups):
    """A group that is created after the validation fails with the cause, and has no member."""
    assert NO_REPLY.search(groups.created.show()['stack_status_reason'])
    assert groups.created.members() == []


def test_update_without_reply_keeps_members(groups):
    """A group that grows after the validation fails with the cause, and keeps its members."""
    assert NO_REPLY.search(groups.updated.show()['stack_status_reason'])
    assert groups.updated.members() == groups.before[0]


def test_signal_without_reply_leaves_an_event(groups):
    """A signal writes an event with the cause and changes nothing; the next one succeeds."""
    assert NO_REPLY.search(groups.signaled.failed_signals()[0])
    assert groups.signaled.members() == groups.before[1]
    groups.signaled.scale('grow', SIZE + 1)
    assert set(groups.before[1]) < set(groups.signaled.members())


@pytest.mark.parametrize('change', ROLLBACKS)
def test_rollback_needs_no_reply(groups, change):
    """A rollback restores the size; new members are spread over the zones."""
    group = groups.rolled_back[change]

    assert len(group.members()) == ROLLBACKS[change][0]
    assert set(group.zones().values()) == {1}
