"""Tests for reading the state of load balancers."""

import time
from functools import partial

import pytest

from placement_worker.cloud import deadline
from placement_worker.cloud.ports import ApiError
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone
from tests.simulated_octavia import Clock
from tests.unit.octavia import scripted


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def reader(clock):
    return partial(scripted.updater, clock)


def test_wait_active_while_pending_polls_ever_less_often(reader, clock):
    """The delay between polls grows from half a second to five, with a jitter of a quarter."""
    reader(*['PENDING_UPDATE'] * 30, 'ACTIVE').wait_active('lb')

    due = [min(0.5 * 1.6**n, 5) for n in range(30)]
    assert all(
        0.75 * one <= slept <= min(1.25 * one, 5)
        for one, slept in zip(due, clock.slept, strict=True)
    )


def test_wait_active_with_other_seed_waits_differently(reader, clock):
    """The same seed leads to the same delays, another seed to others."""

    def delays(seed):
        clock.slept.clear()
        reader(*['PENDING_UPDATE'] * 5, 'ACTIVE', seed=seed).wait_active('lb')
        return tuple(clock.slept)

    assert delays('a') == delays('a') != delays('b')


@pytest.mark.parametrize('timeout_s', [1, 7, 300])
def test_wait_active_while_pending_ends_at_the_timeout(reader, clock, timeout_s):
    """A load balancer that stays pending fails no later than the timeout."""
    began = clock()

    with pytest.raises(
        LoadBalancerFailed, match=f'Load balancer lb is still PENDING_UPDATE after {timeout_s} s'
    ):
        reader('PENDING_UPDATE', timeout_s=timeout_s).wait_active('lb')

    assert timeout_s - 5 <= clock() - began <= timeout_s


def test_wait_active_with_early_expiry_ends_at_the_expiry(reader, clock):
    """A wait ends when the request expires, even if the timeout is longer."""
    began = clock()

    with pytest.raises(LoadBalancerFailed, match='after 20 s'):
        reader('PENDING_UPDATE', left_s=20).wait_active('lb')

    assert clock() - began <= 20


def test_wait_active_after_transient_errors_returns_the_load_balancer(reader):
    """Polls that fail with transient errors are repeated."""
    errors = [ApiError('busy', status) for status in (500, 503, None, 504, 429) * 3]

    assert reader(*errors, 'ACTIVE').wait_active('lb')['provisioning_status'] == 'ACTIVE'


def test_wait_active_with_lasting_errors_names_the_last(reader):
    """Polls that keep failing raise the last response of Octavia."""
    with pytest.raises(
        LoadBalancerFailed,
        match='Cannot read load balancer lb: Octavia responded with status 503: busy',
    ):
        reader(ApiError('busy', 503)).wait_active('lb')


@pytest.mark.parametrize(
    ('state', 'error', 'message'),
    [
        ('ERROR', LoadBalancerFailed, 'Load balancer lb is in ERROR'),
        ('DELETED', LoadBalancerGone, 'Load balancer lb does not exist any more'),
        (ApiError('not found', 404), LoadBalancerGone, 'Load balancer lb does not exist any more'),
        (ApiError('no', 403), ApiError, 'no'),
    ],
)
def test_wait_active_with_final_state_fails_without_a_wait(reader, clock, state, error, message):
    """A state that cannot become ACTIVE fails at once."""
    with pytest.raises(error, match=message):
        reader(state).wait_active('lb')

    assert clock.slept == []


def test_call_with_budget_ends_with_the_budget_or_after_five_seconds(reader, clock):
    """A call must end within the budget; after the budget it has five seconds."""
    reading = reader('ACTIVE', timeout_s=40)
    clock.sleep(10)

    left_s = reading.call(deadline.current) - time.monotonic()

    assert 29 < left_s <= 30
    clock.sleep(300)
    assert 0 < reading.call(deadline.current) - time.monotonic() <= 5
    assert deadline.current() is None


def test_pause_until_later_moment_ends_with_the_budget(reader, clock):
    """A pause lasts until the moment, but not beyond the budget, and never goes back."""
    reading = reader('ACTIVE', timeout_s=5)
    began = clock()

    reading.pause_until(began + 2)
    reading.pause_until(began)
    reading.pause_until(began + 100)

    assert clock.slept == [2, 0, 3]
