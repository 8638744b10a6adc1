"""Every operation under errors of Octavia, killed workers and expiry, at every call."""

import contextlib
from dataclasses import dataclass

import pytest

from placement_worker.cloud.ports import ApiError
from tests.unit.policies.load_balancing.building_blocks import Killed
from tests.unit.policies.load_balancing.operations import (
    OPERATIONS,
    TIMEOUT_S,
    Attach,
    AttachToExisting,
    Detach,
    calls_of,
)

ALWAYS = 10**6
IMMUTABLE = 'Load Balancer x is immutable and cannot be updated.'


@dataclass(frozen=True)
class Answer:
    """An injected response of Octavia.

    `done`: after the call had its effect; `times`: in a row, to calls of the same kind; `to_all`:
    to any calls; `breaks`: its load balancers are in ERROR then.
    """

    name: str
    status: int | None
    message: str = 'Octavia is unwell'
    retry_after_s: float | None = None
    done: bool = False
    times: int = 1
    to_all: bool = False
    breaks: bool = False

    def __str__(self):
        return self.name


ANSWERS = [
    Answer('immutable once', 409, IMMUTABLE),
    Answer('immutable for ever', 409, IMMUTABLE, times=ALWAYS),
    Answer('immutable in ERROR', 409, IMMUTABLE, times=ALWAYS, breaks=True),
    Answer('duplicate member', 409, 'Another member is using ip 10.0.0.1 on protocol_port 80'),
    Answer('port in use', 409, 'Another Listener is already using protocol_port 80'),
    Answer('monitor exists', 409, 'This pool already has a health monitor', times=ALWAYS),
    Answer('quota', 403, 'Quota has been met for resources: member'),
    Answer('forbidden', 403, 'Policy does not allow this request to be performed.', times=ALWAYS),
    Answer('unauthorized', 401, 'The request you have made requires authentication.', times=ALWAYS),
    Answer('too many', 429, retry_after_s=7),
    Answer('too many, for a day', 429, retry_after_s=86400),
    Answer('too many, for ever', 429, retry_after_s=1, times=ALWAYS),
    Answer('busy', 503, times=3),
    Answer('busy for ever', 503, times=ALWAYS),
    Answer('internal error', 500),
    Answer('internal error, but done', 500, done=True),
    Answer('internal error for ever', 500, times=ALWAYS),
    Answer('bad gateway', 502, done=True),
    Answer('gateway time-out', 504),
    Answer('gateway timeout, but done', 504, done=True),
    Answer('a status of a proxy of its own', 520),
    Answer('a status of a proxy of its own, but done', 520, done=True),
    Answer('reset', None, 'The connection broke'),
    Answer('reset, but done', None, 'The connection broke', done=True),
    Answer('reset, done, twice', None, 'The connection broke', done=True, times=2),
    Answer('an outage', 503, times=8, to_all=True),
    Answer('an outage without end', 503, times=ALWAYS, to_all=True),
    Answer('a lost network', None, times=8, to_all=True),
    Answer('a network lost for ever', None, times=ALWAYS, to_all=True),
    Answer('no answer for ever', None, 'did not respond in time', times=ALWAYS),
    Answer('not supported', 501, 'The provider does not support the option'),
    Answer('not supported at all', 501, 'The provider does not support the option', times=ALWAYS),
    Answer('invalid', 400, 'Validation failure'),
    Answer('invalid for ever', 400, 'Validation failure', times=ALWAYS),
]


class Faulty:
    def __init__(self, lab, first, answer):
        self.lab, self.first, self.answer = lab, first, answer
        self.seen = 0
        self.left = answer.times
        self.hit = None

    def __call__(self, call):
        self.seen += 1
        if self.seen <= self.first or not self.left:
            return call.act()
        if self.hit is None:
            self.hit = str(call), call.arguments[:1]
        elif not self.answer.to_all and (str(call), call.arguments[:1]) != self.hit:
            return call.act()
        self.left -= 1
        if self.answer.breaks:
            self._break()
        if self.answer.done:
            call.act()
        raise ApiError(self.answer.message, self.answer.status, self.answer.retry_after_s)

    def _break(self):
        with self.lab.store.changing() as state:
            for lb in state.get('R1', {}).get('loadbalancer', {}).values():
                lb['provisioning_status'] = 'ERROR'
            state.get('R1', {})['pending'] = {}


@contextlib.contextmanager
def disturbed_at(step, one, *details):
    """Name the disturbed call of an operation in failures of the block."""
    try:
        yield
    except AssertionError as exc:
        exc.add_note(f'disturbed at call {step}, {one.lab.calls[step]}: {details}')
        raise


@pytest.mark.parametrize('operation', OPERATIONS)
@pytest.mark.parametrize('answer', ANSWERS, ids=str)
def test_operation_with_a_fault_is_complete_or_undone_with_the_cause(operation, answer):
    """An operation that meets a fault completes, or leaves nothing and names the cause."""
    for step in range(calls_of(operation)):
        one = operation()
        one.lab.around = Faulty(one.lab, step, answer)
        status, reason, reply = one.run()
        with disturbed_at(step, one, status, reason):
            judge(one, answer, status, reason, reply)


def judge(one, answer, status, reason, reply):
    took_s = one.lab.clock() - one.began
    if status == 'OK':
        one.is_right(reply)
        assert took_s <= TIMEOUT_S
        return
    reported = (
        f'{reason} {[decision["details"].get("failed") for decision in reply.get("decisions", ())]}'
    )
    assert answer.message in reported or 'is in ERROR' in reported
    assert took_s <= 2 * TIMEOUT_S
    if 'could not be removed' in reason:
        assert answer.times == ALWAYS
    else:
        one.is_clean(reply)


@pytest.mark.parametrize('operation', OPERATIONS)
def test_operation_on_a_deleted_load_balancer_recreates_it_or_names_it(operation):
    """A load balancer that another client deletes at any step is recreated or named in the
    reason.
    """
    for step in range(calls_of(operation)):
        one = operation()

        def vanish(call, one=one, step=step):
            if len(one.lab.calls) == step + 1:
                one.lab.store.__init__()
            return call.act()

        one.lab.around = vanish
        status, reason, reply = one.run()
        with disturbed_at(step, one, status, reason):
            one.is_right_though_it_vanished(status, reason, reply)


class Killer:
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
        one.lab.around = lambda call: call.act()
        one.lab.clock.now += passed_s

        status, reason, reply = one.run()

        with disturbed_at(step, one, status, reason):
            assert status == 'OK'
            one.is_right(reply)


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


@pytest.mark.parametrize('operation', OPERATIONS)
def test_operation_after_expiry_only_undoes_changes(operation):
    """An operation whose request expires before any of its calls makes no change except to undo."""
    for step in range(calls_of(operation)):
        one = operation()
        one.expires_at = one.lab.clock.after(1000)

        def expire(call, one=one, step=step):
            if len(one.lab.calls) == step + 1:
                one.lab.clock.now += 1001
            return call.act()

        one.lab.around = expire
        status, reason, reply = one.run()

        late = [call for call in one.lab.calls[step + 1 :] if call.writes]
        if issubclass(operation, Attach | AttachToExisting):
            assert {call.name for call in late} <= {'delete', 'delete_member'}
            assert status == 'ERROR'
            one.is_clean(reply)
        else:
            assert not late, f'{late[0]} after call {step}'
            assert (
                not any(node.get('status') for node in reply['nodes'].values())
                or reason != 'Request expired'
            )
