"""How Octavia is driven: how long is waited, how often is tried, what counts."""

import time

import pytest

from placement_worker.cloud import deadline
from placement_worker.cloud.ports import ApiError, OctaviaSettings
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone, RequestExpired
from placement_worker.octavia.updater import Driver
from tests.simulated_octavia import Clock


class Scripted:
    """An Octavia that answers from a list, and then the last one again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0

    def show(self, kind, object_id):
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {'id': object_id, 'provisioning_status': answer}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def driver(clock):
    def build(*answers, timeout_s=300, left_s=float('inf'), seed='s', **options):
        octavia_settings = OctaviaSettings(**options, sleep=clock.sleep, clock=clock)
        return Driver(Scripted(*answers), octavia_settings, timeout_s, lambda: left_s, seed)

    return build


def test_looks_grow_rarer_from_half_a_second_to_five(driver, clock):
    driver(*['PENDING_UPDATE'] * 30, 'ACTIVE').wait_active('lb')

    due = [min(0.5 * 1.6**n, 5) for n in range(30)]
    assert all(
        0.75 * one <= slept <= min(1.25 * one, 5)
        for one, slept in zip(due, clock.slept, strict=True)
    )


def test_workers_wait_differently_and_the_same_request_waits_the_same(driver, clock):
    def waits(seed):
        clock.slept.clear()
        driver(*['PENDING_UPDATE'] * 5, 'ACTIVE', seed=seed).wait_active('lb')
        return tuple(clock.slept)

    assert waits('a') == waits('a') != waits('b')


@pytest.mark.parametrize('timeout_s', [1, 7, 300])
def test_waiting_never_takes_longer_than_it_may(driver, clock, timeout_s):
    began = clock()

    with pytest.raises(
        LoadBalancerFailed, match=f'Load balancer lb is still PENDING_UPDATE after {timeout_s} s'
    ):
        driver('PENDING_UPDATE', timeout_s=timeout_s).wait_active('lb')

    assert timeout_s - 5 <= clock() - began <= timeout_s


def test_nobody_waits_longer_than_the_caller(driver, clock):
    began = clock()

    with pytest.raises(LoadBalancerFailed, match='after 20 s'):
        driver('PENDING_UPDATE', left_s=20).wait_active('lb')

    assert clock() - began <= 20


def test_looks_that_fail_in_passing_are_put_up_with(driver):
    faults = [ApiError('busy', status) for status in (500, 503, None, 504, 429) * 3]

    assert driver(*faults, 'ACTIVE').wait_active('lb')['provisioning_status'] == 'ACTIVE'


def test_looks_that_keep_failing_are_told(driver):
    with pytest.raises(
        LoadBalancerFailed, match='Load balancer lb cannot be looked at: Octavia answers 503: busy'
    ):
        driver(ApiError('busy', 503)).wait_active('lb')


@pytest.mark.parametrize(
    ('answer', 'error', 'message'),
    [
        ('ERROR', LoadBalancerFailed, 'Load balancer lb is in ERROR'),
        ('DELETED', LoadBalancerGone, 'Load balancer lb does not exist any more'),
        (ApiError('not found', 404), LoadBalancerGone, 'Load balancer lb does not exist any more'),
        (ApiError('no', 403), ApiError, 'no'),
    ],
)
def test_what_will_not_change_is_told_at_once(driver, clock, answer, error, message):
    with pytest.raises(error, match=message):
        driver(answer).wait_active('lb')

    assert clock.slept == []


def failing(*answers):
    """A change that fails so often, and what it was asked."""
    left, asked = list(answers), []

    def act():
        asked.append(len(asked))
        if left:
            raise left.pop(0)

    return act, asked


def test_a_change_is_tried_again_as_often_as_it_may_be(driver):
    act, asked = failing(*[ApiError('busy', 503)] * 20)

    with pytest.raises(ApiError, match='busy'):
        driver('ACTIVE', max_attempts=4).write('lb', act, lambda: False)

    assert len(asked) == 4


def test_what_octavia_says_of_the_next_try_is_honoured(driver, clock):
    act, _ = failing(ApiError('slow down', 429, 40))

    driver('ACTIVE').write('lb', act, lambda: False)

    assert clock.slept == [40]


def test_a_try_that_would_come_too_late_is_not_waited_for(driver, clock):
    act, asked = failing(ApiError('slow down', 429, 400))

    with pytest.raises(ApiError, match='slow down'):
        driver('ACTIVE').write('lb', act, lambda: False)

    assert (len(asked), clock.slept) == (1, [])


def test_a_change_that_has_happened_already_is_not_made_again(driver):
    act, asked = failing(ApiError('The connection broke'))
    driven = driver('ACTIVE')

    driven.write('lb', act, lambda: True)

    assert (len(asked), driven.tally.updates, driven.tally.writes) == (1, 1, 1)


@pytest.mark.parametrize('status', [None, 500, 502, 504, 520, 599])
def test_whatever_of_5xx_does_not_tell_what_came_of_a_change_is_looked_for_and_then_tried_again(
    driver, status
):
    act, asked = failing(ApiError('what?', status))
    looked = []

    driver('ACTIVE').write('lb', act, lambda: looked.append(len(asked)))

    assert (len(asked), looked) == (2, [1])


@pytest.mark.parametrize('status', [400, 403, 404, 501])
def test_what_can_not_have_happened_is_not_looked_for(driver, status):
    act, asked = failing(ApiError('no', status))

    with pytest.raises(ApiError, match='no'):
        driver('ACTIVE').write('lb', act, lambda: pytest.fail('looked for it'))

    assert len(asked) == 1


def test_an_immutable_load_balancer_is_waited_for_and_one_in_error_is_not(driver):
    immutable = ApiError('Load Balancer lb is immutable and cannot be updated.', 409)
    act, asked = failing(immutable, immutable)
    driver('PENDING_UPDATE', 'ACTIVE').write('lb', act, lambda: False)
    assert len(asked) == 3

    act, asked = failing(immutable, immutable)
    with pytest.raises(LoadBalancerFailed, match='Load balancer lb is in ERROR'):
        driver('ERROR').write('lb', act, lambda: False)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ('limits', 'error', 'message'),
    [
        ({'left_s': 0}, RequestExpired, 'Request expired'),
        ({'timeout_s': 0}, LoadBalancerFailed, 'The 0 s for changes are up'),
    ],
)
def test_nothing_is_changed_when_the_time_is_up(driver, limits, error, message):
    act, asked = failing()

    with pytest.raises(error, match=message):
        driver('ACTIVE', **limits).write('lb', act, lambda: False)

    assert asked == []


def test_cleaning_up_has_a_budget_of_its_own_and_one_account(driver):
    late = driver('ACTIVE', left_s=0)
    act, asked = failing()

    late.undoing().write('lb', act, lambda: False)

    assert (len(asked), late.tally.updates, late.tally.calls) == (1, 1, 2)


def test_no_call_may_take_longer_than_what_is_left_for_all_changes(driver, clock):
    driven = driver('ACTIVE', timeout_s=40)
    clock.sleep(10)

    left_s = driven.counted(deadline.current) - time.monotonic()

    assert 29 < left_s <= 30
    clock.sleep(300)
    assert (
        0 < driven.counted(deadline.current) - time.monotonic() <= 5
    )  # a last look at how things are
    assert deadline.current() is None
