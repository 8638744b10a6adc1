"""The arguments of a client that are checked when it is created."""

import pytest

from placement_worker import errors
from placement_worker.client.rpc_client import PolicyClient


@pytest.mark.parametrize('option', ['timeout_s', 'slow_timeout_s'])
@pytest.mark.parametrize(
    ('value', 'shown'),
    [
        (0, '0'),
        (-1, '-1'),
        ('60', "'60'"),
        (None, 'None'),
        (True, 'True'),
        (float('nan'), 'nan'),
        (float('inf'), 'inf'),
        (10**10, '10000000000'),
    ],
)
def test_client_with_an_invalid_timeout_is_refused(option, value, shown):
    """A timeout that is no positive number of seconds is an error when the client is created."""
    with pytest.raises(errors.ConfigurationError) as refused:
        PolicyClient('rabbit://', **{option: value})

    assert str(refused.value) == (
        f'{option}: expected a number of seconds above 0, at most 1000000000, got {shown}'
    )


@pytest.mark.parametrize('cap', ['new', '1', '1.x', '', '1.0.0', '-1.0', 1.1, '1.0\n', '\u0661.0'])
def test_client_with_an_invalid_version_cap_is_refused(cap):
    """A cap that is no version of the contract is an error when the client is created."""
    with pytest.raises(errors.ConfigurationError) as refused:
        PolicyClient('rabbit://', version_cap=cap)

    assert str(refused.value).startswith(
        'version_cap: expected a version of the contract such as "1.1", got '
    )


@pytest.mark.parametrize(
    'options', [{'timeout_s': 0.5, 'slow_timeout_s': 10**9}, {'version_cap': '1.0'}]
)
def test_client_with_valid_options_is_created(options):
    """Fractions of a second, long timeouts and versions are accepted."""
    PolicyClient('rabbit://', **options).close()
