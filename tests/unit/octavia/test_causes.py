"""Tests for the texts of Octavia's errors."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import LoadBalancerFailed
from placement_worker.octavia.causes import cause


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
    assert cause(error) == text
