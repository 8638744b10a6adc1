"""Retries after a first attempt without tenacity."""

import pytest
import tenacity

from placement_worker.client.retries import retried


def attempts_of(outcomes):
    """Return a function that raises these errors in turn, and the list of its calls."""
    calls = []

    def attempt():
        calls.append(1)
        if outcomes:
            raise outcomes.pop(0)

    return attempt, calls


def three_attempts():
    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(3),
        retry=tenacity.retry_if_exception_type(OSError),
        reraise=True,
    )


def test_retried_success_does_not_create_the_conditions():
    """The usual case costs nothing."""
    attempt, calls = attempts_of([])

    retried(attempt, OSError, lambda: pytest.fail('created'))

    assert len(calls) == 1


@pytest.mark.parametrize('failures', [1, 2])
def test_retried_failure_is_repeated_until_it_succeeds(failures):
    """A failure that ends in time is no error."""
    attempt, calls = attempts_of([OSError('away')] * failures)

    retried(attempt, OSError, three_attempts)

    assert len(calls) == failures + 1


def test_retried_failure_counts_the_first_attempt():
    """The limit of attempts includes the first, and the last error is raised."""
    attempt, calls = attempts_of([OSError(str(number)) for number in range(9)])

    with pytest.raises(OSError, match=r'^2$'):
        retried(attempt, OSError, three_attempts)

    assert len(calls) == 3


def test_retried_error_of_another_type_is_raised_at_once():
    """An error of another type is not repeated."""
    attempt, calls = attempts_of([KeyError('bug')])

    with pytest.raises(KeyError):
        retried(attempt, OSError, three_attempts)

    assert len(calls) == 1
