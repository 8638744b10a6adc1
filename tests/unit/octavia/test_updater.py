"""Changes of load balancers: retried, looked up, waited for, within a time budget."""

import time
from contextlib import nullcontext
from functools import partial

import pytest

from placement_worker.cloud import time_budget
from placement_worker.cloud.ports import ApiError, OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone, RequestExpired
from placement_worker.events.types import (
    LoadBalancerConflicted,
    LoadBalancerRetried,
    LoadBalancerUpdated,
)
from placement_worker.octavia.updater import Updater, refuses_nested_creation
from tests.events import Events
from tests.simulated_octavia import Clock

IMMUTABLE = ApiError('Load Balancer lb is immutable and cannot be updated.', 409)
INVALID_STATE = ApiError('Invalid state PENDING_UPDATE of loadbalancer resource lb', 409)


class Scripted:
    """An Octavia that shows load balancers in scripted states; the last state repeats."""

    def __init__(self, *states):
        self.states = list(states)

    def show(self, kind, object_id):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return {'id': object_id, 'provisioning_status': state}


class ScriptedChange:
    def __init__(self, *errors, done=False):
        self.errors = list(errors)
        self.done = done
        self.attempts = 0
        self.looked_up_after = []

    def send(self):
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)

    def is_done(self):
        self.looked_up_after.append(self.attempts)
        return self.done


def scripted(clock, *states, timeout_s=300, left_s=float('inf'), seed='s', **options):
    settings = OctaviaSettings(**options, sleep=clock.sleep, clock=clock, events=Events())
    return Updater(Scripted(*states), settings, TimeBudget(timeout_s, clock, lambda: left_s), seed)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def updater(clock):
    """A function that returns an updater over scripted states."""
    return partial(scripted, clock)


def test_update_while_octavia_is_busy_is_retried_up_to_max_attempts(updater):
    """A change is sent at most `max_attempts` times, then the last error is raised."""
    change = ScriptedChange(*[ApiError('busy', 503)] * 20)

    with pytest.raises(ApiError, match='busy'):
        updater('ACTIVE', max_attempts=4).update('lb', change)

    assert change.attempts == 4


def test_update_with_retry_after_beyond_the_budget_fails_at_once(updater, clock):
    """A change that could be retried only after the end of the budget fails without a wait."""
    change = ScriptedChange(ApiError('slow down', 429, 400))

    with pytest.raises(ApiError, match='slow down'):
        updater('ACTIVE').update('lb', change)

    assert (change.attempts, clock.slept) == (1, [])


@pytest.mark.parametrize(
    ('error', 'is_done', 'attempts', 'looked_up_after'),
    [
        *((ApiError('what?', status), False, 2, [1]) for status in (None, 500, 502, 504, 520, 599)),
        (ApiError('The connection broke'), True, 1, [1]),
        *((ApiError('busy', status), False, 2, []) for status in (429, 503)),
        *((ApiError('no', status), False, 1, []) for status in (400, 403, 404, 501)),
        (ApiError('already exists', 409), False, 1, [1]),
        (ApiError(str(IMMUTABLE), 400), False, 1, []),
        (IMMUTABLE, False, 2, []),
        (INVALID_STATE, False, 2, []),
    ],
)
def test_update_that_fails_is_looked_up_and_retried_by_its_error(
    updater, error, is_done, attempts, looked_up_after
):
    """A change is looked up if it may have taken effect, and retried if it may succeed later."""
    change, updating = ScriptedChange(error, done=is_done), updater('ACTIVE')
    has_failed = attempts == 1 and not is_done

    with pytest.raises(ApiError, match=str(error)) if has_failed else nullcontext():
        updating.update('lb', change)

    statistics = updating.statistics
    assert (statistics.updates, statistics.writes) == (0 if has_failed else 1, attempts)
    is_conflict = error in (IMMUTABLE, INVALID_STATE)
    again = LoadBalancerConflicted(0.5) if is_conflict else LoadBalancerRetried()
    assert updating.settings.events.received == [
        *[again] * (attempts - 1),
        *[LoadBalancerUpdated()] * statistics.updates,
    ]
    assert (change.attempts, change.looked_up_after) == (attempts, looked_up_after)


def test_deletion_during_another_change_reports_the_conflict_and_the_update(updater):
    """A refused deletion is sent again when nothing is pending any more."""
    change, deleting = ScriptedChange(IMMUTABLE), updater('ACTIVE', 'DELETED')
    deleting.octavia.delete = lambda *_, **__: change.send()

    deleting.delete_load_balancer('lb')

    assert deleting.settings.events.received == [
        LoadBalancerConflicted(0.0),
        LoadBalancerRetried(),
        LoadBalancerUpdated(),
    ]


@pytest.mark.parametrize(
    ('limits', 'error', 'message'),
    [
        ({'left_s': 0}, RequestExpired, 'Request expired'),
        ({'timeout_s': 0}, LoadBalancerFailed,
         r'Load balancer changes exceeded lb_status_timeout \(0 s\)'),
    ],
)  # fmt: skip
def test_update_without_time_left_is_not_sent(updater, limits, error, message):
    """No change is sent after the request expired or the budget is used up."""
    change = ScriptedChange()

    with pytest.raises(error, match=message):
        updater('ACTIVE', **limits).update('lb', change)

    assert change.attempts == 0


def test_call_ends_with_the_budget_or_after_five_seconds(updater, clock, monkeypatch):
    """A call must end within the budget; after the budget it has five seconds."""
    monkeypatch.setattr(time, 'monotonic', lambda: 100.0)
    calling = updater('ACTIVE', timeout_s=40)

    clock.sleep(10)
    assert calling.once(time_budget.left_s) == 30
    clock.sleep(300)
    assert calling.once(time_budget.left_s) == 5


def test_read_after_transient_errors_returns_result(updater, clock):
    """A call that fails with transient errors is made again, and each attempt is counted."""
    reading = updater(ApiError('busy', 503), ApiError('?'), 'ACTIVE')

    assert reading.read(reading.octavia.show, 'pool', 'p')['id'] == 'p'

    assert (reading.statistics.calls, len(clock.slept)) == (3, 2)
    assert reading.statistics.waited_s == sum(clock.slept)


def test_wait_until_later_moment_ends_with_the_budget(updater, clock):
    """A wait lasts until the moment, but not beyond the budget, and never goes back."""
    began, waiting = clock(), updater('ACTIVE', timeout_s=40)

    for moment in (2, 0, 100):
        waiting.wait_until(began + moment)

    assert clock.slept == [2, 0, 38]


def test_wait_active_while_pending_polls_ever_less_often(updater, clock):
    """The delay between polls grows from half a second to five, with a jitter of a quarter."""
    updater(*['PENDING_UPDATE'] * 30, 'ACTIVE').wait_active('lb')

    due = [min(0.5 * 1.6**n, 5) for n in range(30)]
    assert all(
        0.75 * one <= slept <= min(1.25 * one, 5)
        for one, slept in zip(due, clock.slept, strict=True)
    )


def test_wait_active_with_other_seed_waits_differently(updater, clock):
    """The same seed leads to the same delays, another seed to others."""

    def delays(seed):
        clock.slept.clear()
        updater(*['PENDING_UPDATE'] * 5, 'ACTIVE', seed=seed).wait_active('lb')
        return tuple(clock.slept)

    assert delays('a') == delays('a') != delays('b')


@pytest.mark.parametrize('timeout_s', [1, 7, 300])
def test_wait_active_while_pending_ends_at_the_timeout(updater, clock, timeout_s):
    """A load balancer that stays pending fails no later than the timeout."""
    began = clock()

    with pytest.raises(
        LoadBalancerFailed, match=f'Load balancer lb is still PENDING_UPDATE after {timeout_s} s'
    ):
        updater('PENDING_UPDATE', timeout_s=timeout_s).wait_active('lb')

    assert timeout_s - 5 <= clock() - began <= timeout_s


def test_wait_active_after_transient_errors_returns_the_load_balancer(updater):
    """Polls that fail with transient errors are repeated."""
    errors = [ApiError('busy', status) for status in (500, 503, None, 504, 429) * 3]

    assert updater(*errors, 'ACTIVE').wait_active('lb')['provisioning_status'] == 'ACTIVE'


def test_wait_active_with_lasting_errors_names_the_last(updater):
    """Polls that keep failing raise the last response of Octavia."""
    attempts = r'busy, after \d+ attempts in \d+ s$'
    with pytest.raises(
        LoadBalancerFailed,
        match=f'Cannot read load balancer lb: Octavia responded with status 503: {attempts}',
    ):
        updater(ApiError('busy', 503)).wait_active('lb')


@pytest.mark.parametrize(
    ('state', 'error', 'message'),
    [
        ('ERROR', LoadBalancerFailed, 'Load balancer lb is in ERROR'),
        ('DELETED', LoadBalancerGone, 'Load balancer lb does not exist any more'),
        (ApiError('not found', 404), LoadBalancerGone, 'Load balancer lb does not exist any more'),
        (ApiError('no', 403), ApiError, 'no'),
    ],
)
def test_wait_active_with_final_state_fails_without_a_wait(updater, clock, state, error, message):
    """A state that cannot become ACTIVE fails at once."""
    with pytest.raises(error, match=message):
        updater(state).wait_active('lb')

    assert clock.slept == []


@pytest.mark.parametrize(
    ('status', 'text', 'expected'),
    [
        (501, '', True),
        (400, 'Unknown argument: tags', True),
        (400, 'Invalid input', False),
        (None, '', False),
    ],
)
def test_refusal_of_a_nested_creation_is_recognized(status, text, expected):
    """Status 501 and unknown arguments stand for a feature that Octavia lacks."""
    assert refuses_nested_creation(ApiError(text, status)) is expected
