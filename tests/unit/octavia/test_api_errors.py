"""Tests for the meaning and the texts of Octavia's errors."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import LoadBalancerFailed
from placement_worker.octavia import api_errors

IMMUTABLE = 'Load Balancer lb1 is immutable and cannot be updated.'


@pytest.mark.parametrize(
    ('status', 'text', 'may_have_taken_effect', 'is_retried'),
    [
        (None, '', True, True),
        (429, '', False, True),
        (500, '', True, True),
        (501, '', False, False),
        (400, '', False, False),
        (404, '', False, False),
        (409, 'already exists', True, False),
        (409, IMMUTABLE, False, True),
        (400, IMMUTABLE, False, False),
    ],
)
def test_classification_of_refused_change_follows_status_and_text(
    status, text, may_have_taken_effect, is_retried
):
    """A conflict leads to a lookup, except that of an immutable load balancer, which waits."""
    error = ApiError(text, status)

    assert api_errors.may_have_taken_effect(error) is may_have_taken_effect
    assert api_errors.is_immutable(error) is (status == 409 and text == IMMUTABLE)
    assert api_errors.is_transient_or_immutable(error) is is_retried


def test_classification_of_other_exception_is_not_transient():
    """Only errors of Octavia are retried."""
    assert not api_errors.is_transient_or_immutable(ValueError(IMMUTABLE))


@pytest.mark.parametrize(
    ('status', 'text', 'is_unsupported'),
    [
        (501, '', True),
        (400, 'Unknown argument: tags', True),
        (400, 'Invalid input', False),
        (None, '', False),
    ],
)
def test_is_unsupported_recognizes_missing_features(status, text, is_unsupported):
    """Status 501 and unknown arguments stand for a feature that Octavia lacks."""
    assert api_errors.is_unsupported(ApiError(text, status)) is is_unsupported


@pytest.mark.parametrize(
    ('error', 'text'),
    [
        (ApiError('busy', 503), 'Octavia responded with status 503: busy'),
        (ApiError('connection refused'), 'Octavia did not respond: connection refused'),
        (LoadBalancerFailed('too slow'), 'too slow'),
    ],
)
def test_cause_of_an_error_names_status_and_text(error, text):
    """The cause names the HTTP status, if Octavia sent one, and the text of the error."""
    assert api_errors.cause(error) == text
