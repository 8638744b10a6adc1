"""Reasons not to retry a parked request."""

import pytest

from placement_worker.cmd import retry_warnings
from tests.factories import NOW

CHECK = 'policy_check'
PAST, LATER = '2000-01-01T00:00:00', '2999-01-01T00:00:00Z'


@pytest.mark.parametrize(
    ('method', 'request_', 'words'),
    [
        (CHECK, {'target': 'BEFORE'}, 'This is a check BEFORE an action'),
        (CHECK, {'target': 'BEFORE', 'expires_at': LATER}, 'This is a check BEFORE an action'),
        (CHECK, {'target': 'BEFORE', 'expires_at': PAST}, f'The request expired at {PAST}, so'),
        (CHECK, {'target': 'AFTER', 'expires_at': PAST}, f'The request expired at {PAST}, so'),
        ('policy_attach', {}, 'The caller of policy_attach has got RequestParked'),
        ('policy_detach', {}, 'The caller of policy_detach has got RequestParked'),
    ],
)
def test_retry_that_helps_nobody_has_one_warning(method, request_, words):
    """An operator learns why to drop the request."""
    (sentence,) = retry_warnings.of(method, request_, NOW)

    assert sentence.startswith(words)
    assert 'drop such a request' in sentence


@pytest.mark.parametrize(
    ('method', 'request_'),
    [
        (CHECK, {'target': 'AFTER'}),
        (CHECK, {'target': 'AFTER', 'expires_at': LATER}),
        (CHECK, {'target': 'AFTER', 'expires_at': 'soon'}),
        (CHECK, {'expires_at': []}),
        (CHECK, []),
        (['policy_check'], None),
    ],
)
def test_retry_that_may_help_or_is_malformed_has_no_warning(method, request_):
    """A check AFTER an action adds the missing members."""
    assert list(retry_warnings.of(method, request_, NOW)) == []
