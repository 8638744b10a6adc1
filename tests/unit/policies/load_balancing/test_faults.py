"""Tests that inject every error of Octavia into every call of every operation."""

from dataclasses import dataclass

import pytest

from placement_worker.cloud.ports import ApiError
from tests.unit.policies.load_balancing.operations import OPERATIONS, TIMEOUT_S, calls_of

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
    Answer(
        'duplicate member',
        409,
        'Another member on this pool is already using ip 10.0.0.1 on protocol_port 80',
    ),
    Answer(
        'port in use',
        409,
        'Another Listener on this Load Balancer is already using protocol_port 80',
    ),
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
    Answer('not supported', 501, 'The provider does not support the requested option'),
    Answer(
        'not supported at all',
        501,
        'The provider does not support the requested option',
        times=ALWAYS,
    ),
    Answer('invalid', 400, 'Validation failure'),
    Answer('invalid for ever', 400, 'Validation failure', times=ALWAYS),
]


class Faulty:
    """Responds so from the n-th call on."""

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
            self.hit = call
        elif not self.answer.to_all and (call.name, call.arguments[:1]) != (
            self.hit.name,
            self.hit.arguments[:1],
        ):
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


@pytest.mark.parametrize('operation', OPERATIONS)
@pytest.mark.parametrize('answer', ANSWERS, ids=str)
def test_operation_with_a_fault_is_complete_or_undone_with_the_cause(operation, answer):
    """An operation that meets a fault completes, or leaves nothing and names the cause."""
    for step in range(calls_of(operation)):
        one = operation()
        one.lab.around = fault = Faulty(one.lab, step, answer)
        status, reason, reply = one.run()
        try:
            judge(one, answer, status, reason, reply)
        except AssertionError as exc:
            exc.add_note(f'at call {step}, {fault.hit}: {status}, {reason}')
            raise


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
        one.lab.around = Faulty(one.lab, step, Answer('vanishes', None, times=0))
        around = one.lab.around

        def vanish(call, one=one, around=around, step=step):
            if around.seen == step:
                one.lab.store.__init__()
            return around(call)

        one.lab.around = vanish
        status, reason, reply = one.run()
        try:
            one.is_right_though_it_vanished(status, reason, reply)
        except AssertionError as exc:
            exc.add_note(f'at call {step}, {one.lab.calls[step]}: {status}, {reason}')
            raise
