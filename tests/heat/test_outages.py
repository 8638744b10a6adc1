"""No worker responds: every action ends with a clear reason, and members stay."""

import re
from contextlib import contextmanager
from functools import partial

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.cloud.background import at_once
from tests.heat.stacks import Stack, until
from tests.heat.templates import GATE

NO_REPLY = re.compile('No worker replied|No broker responded|could not be delivered')
# The sizes before and after an update that is rolled back.
ROLLBACKS = {'growth': (1, 3), 'shrinkage': (3, 1)}
SIZE = 2


@contextmanager
def no_worker(cloud):
    """Kill the worker for a block; it responds again afterwards."""
    cloud.run_only()
    try:
        yield
    finally:
        cloud.run_only('worker1')


@contextmanager
def hung_broker(cloud):
    """Let the broker of the workers accept connections for a block, but not respond."""
    with cloud.workers_broker.frozen():
        yield
    cloud.wait_for_worker('worker1')


class ChangingGroups:
    """Groups, each of which one action changes during an outage.

    :ivar before: the members of `updated` and `signaled` before the outage.
    :ivar refusals: the messages for a new template and for an update that were refused.
    """

    def __init__(self, cloud):
        """Create the groups, and begin the actions whose templates are valid, up to a gate."""
        self.created, self._new = Stack(cloud), Stack(cloud)
        self.updated, self.signaled = (Stack(cloud).send_create(SIZE) for _ in range(2))
        self.rolled_back = {
            name: Stack(cloud).send_create(before) for name, (before, _) in ROLLBACKS.items()
        }
        for group in (self.updated, self.signaled, *self.rolled_back.values()):
            group.wait_for('CREATE_COMPLETE')
        self.before = [group.members() for group in (self.updated, self.signaled)]
        self.created.template.add_gate_before_group()
        self.created.send_create(SIZE)
        self.updated.template.add_gate_before_group()
        self.updated.send_update(desired_capacity=SIZE + 1)
        for name, group in self.rolled_back.items():
            group.template.add_gate_after_group()
            group.send_update(desired_capacity=ROLLBACKS[name][1])
        for group in self.rolled_back.values():
            group.wait_for_resource('group', 'UPDATE_COMPLETE')
        for group in (self.created, self.updated, *self.rolled_back.values()):
            group.wait_for_resource(GATE, 'CREATE_COMPLETE')

    def go_on(self):
        """Continue during the outage: open the gates, send a signal, and offer templates."""
        self.created.open_gate()
        self.updated.open_gate()
        self.signaled.signal('grow')
        for group in self.rolled_back.values():
            group.break_gate()
        offers = (
            partial(self._new.send_create, SIZE),
            partial(self.signaled.send_update, desired_capacity=SIZE + 3),
        )
        self.refusals = at_once(partial(refusal, offer) for offer in offers)

    def wait(self):
        self.created.wait_for('CREATE_FAILED')
        self.updated.wait_for_update('UPDATE_FAILED')
        until(self.signaled.failed_signals)
        for group in self.rolled_back.values():
            group.wait_for('ROLLBACK_COMPLETE')


def refusal(send):
    with pytest.raises(BadRequest) as caught:
        send()
    return str(caught.value)


@pytest.fixture(scope='module', params=[no_worker, hung_broker], ids=['no-worker', 'hung-broker'])
def groups(request, cloud):
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
