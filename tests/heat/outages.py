"""Outages of the workers, and groups that change during them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.heat.heat_cloud import HeatCloud
from tests.heat.stacks import Stack, until
from tests.heat.templates import GATE

# The sizes before and after an update that is rolled back.
ROLLBACKS = {'growth': (1, 3), 'shrinkage': (3, 1)}
SIZE = 2


@contextmanager
def no_worker(cloud: HeatCloud) -> Iterator[None]:
    """Kill the worker for a block; it responds again afterwards."""
    cloud.workers['worker1'].kill()
    try:
        yield
    finally:
        cloud.start_worker('worker1')
        cloud.wait_for_worker('worker1')


@contextmanager
def hung_broker(cloud: HeatCloud) -> Iterator[None]:
    """Let the broker of the workers accept connections for a block, but not respond."""
    with cloud.workers_broker.frozen():
        yield
    cloud.wait_for_worker('worker1')


class ChangingGroups:
    """Groups, each of which one action changes during an outage.

    :ivar before: the members of `updated` and `signaled` before the outage.
    :ivar refusals: the messages for a new template and for an update that were refused.
    """

    def __init__(self, cloud: HeatCloud) -> None:
        """Create the groups, and begin the actions whose templates are valid, up to a gate."""
        self.created, self._new = Stack(cloud), Stack(cloud)
        self.updated, self.signaled = (Stack(cloud).send_create(SIZE) for _ in range(2))
        self.rolled_back = {
            name: Stack(cloud).send_create(before) for name, (before, _) in ROLLBACKS.items()
        }
        for group in (self.updated, self.signaled, *self.rolled_back.values()):
            group.wait_for('CREATE_COMPLETE')
        self.before = [group.members() for group in (self.updated, self.signaled)]
        self.refusals: list[str] = []
        self._begin()

    def _begin(self) -> None:
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

    def go_on(self) -> None:
        """Continue during the outage: open the gates, send a signal, and offer templates."""
        self.created.open_gate()
        self.updated.open_gate()
        self.signaled.signal('grow')
        for group in self.rolled_back.values():
            group.break_gate()
        with ThreadPoolExecutor() as pool:
            creation = pool.submit(_refusal, self._new.send_create, SIZE)
            update = pool.submit(_refusal, self.signaled.send_update, desired_capacity=SIZE + 3)
        self.refusals = [creation.result(), update.result()]

    def wait(self) -> None:
        self.created.wait_for('CREATE_FAILED')
        self.updated.wait_for_update('UPDATE_FAILED')
        until(self.signaled.failed_signals)
        for group in self.rolled_back.values():
            group.wait_for('ROLLBACK_COMPLETE')


def _refusal(send: Callable[..., object], *arguments: int, **properties: int) -> str:
    with pytest.raises(BadRequest) as caught:
        send(*arguments, **properties)
    return str(caught.value)
