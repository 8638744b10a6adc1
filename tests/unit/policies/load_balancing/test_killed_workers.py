"""Tests that kill the worker at every call of every operation."""

import contextlib

import pytest

from placement_worker.cloud.ports import ApiError
from tests.unit.policies.load_balancing.operations import (
    OPERATIONS,
    AttachToExisting,
    Detach,
    calls_of,
)


class Killed(BaseException):
    """The death of the worker: no handler may catch it."""


class Killer:
    """Ends the worker at the n-th call, before or after its effect."""

    def __init__(self, step, *, after):
        self.step, self.after, self.seen = step, after, 0

    def __call__(self, call):
        self.seen += 1
        if self.seen != self.step + 1:
            return call.act()
        if self.after:
            with contextlib.suppress(ApiError):
                call.act()
        raise Killed


@pytest.mark.parametrize('operation', OPERATIONS)
@pytest.mark.parametrize('after', [False, True], ids=['before its effect', 'after its effect'])
@pytest.mark.parametrize('passed_s', [0, 20], ids=['at once', 'when nothing is pending'])
def test_operation_of_a_killed_worker_completes_when_redelivered(operation, after, passed_s):
    """An operation whose worker is killed at any call completes when it is handled again."""
    for step in range(calls_of(operation)):
        one = operation()
        one.lab.around = Killer(step, after=after)
        with pytest.raises(Killed):
            one.run()
        killed_at = one.lab.calls[-1]
        one.lab.around = lambda call: call.act()
        one.lab.clock.now += passed_s

        status, reason, reply = one.run()

        try:
            assert status == 'OK'
            one.is_right(reply)
        except AssertionError as exc:
            exc.add_note(f'killed at call {step}, {killed_at}: {status}, {reason}')
            raise


@pytest.mark.parametrize('operation', [one for one in OPERATIONS if not issubclass(one, Detach)])
def test_operation_killed_repeatedly_completes(operation):
    """An operation completes after workers were killed at ever later calls."""
    one = operation()
    for step in range(calls_of(operation)):
        one.lab.around = Killer(step, after=True)
        try:
            one.run()
        except Killed:
            continue
        break
    one.lab.around = lambda call: call.act()

    status, reason, reply = one.run()

    assert status == 'OK', reason
    one.is_right(reply)


@pytest.mark.parametrize('operation', [one for one in OPERATIONS if 'Attach' in one.__name__])
def test_detach_after_a_killed_attach_leaves_nothing(operation):
    """A detachment without stored data removes all objects of a killed attachment."""
    for step in range(calls_of(operation)):
        one = operation()
        one.lab.around = Killer(step, after=True)
        with pytest.raises(Killed):
            one.run()
        one.lab.around = lambda call: call.act()

        assert one.detach()['status'] == 'OK'

        assert one.lab.addresses() == (['10.0.0.100'] if operation is AttachToExisting else [])
        assert one.lab.is_empty() == (operation is not AttachToExisting)
