"""The hints of error messages."""

import pytest

from placement_worker import errors
from placement_worker.cmd import hints

ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
]


@pytest.mark.parametrize('kind', ERRORS, ids=lambda kind: kind.__name__)
def test_with_hint_of_each_error_of_a_command_adds_a_hint(kind):
    """Each type of error that a command can report has a hint."""
    inside_replies = issubclass(kind, errors.Rejected) and not issubclass(
        kind, errors.CloudUnavailable
    )
    roots = (errors.PlacementWorkerError,)

    assert ('; ' in hints.with_hint(kind('It is wrong.'))) is not (inside_replies or kind in roots)


def test_with_hint_of_a_refusal_advises_to_correct_the_cause():
    """A refused request of a service is not worth waiting for."""
    refused = (
        'Compute service refused the request: HTTP 403; check that the roles let it list zones'
    )

    assert (
        hints.with_hint(errors.ServiceRefused(refused))
        == f'{refused}; correct the cause and try again'
    )


def test_with_hint_of_an_error_that_names_a_command_adds_none():
    """An error that names a command needs no second hint."""
    text = 'No parked request 7; run "placement-policy parked list" for the parked requests'

    assert hints.with_hint(errors.InvalidRequest(text)) == text
