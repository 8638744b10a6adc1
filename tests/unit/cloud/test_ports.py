"""The types beside the interfaces of a cloud."""

import pytest

from placement_worker.cloud.ports import ApiError, UnreachableCloud
from placement_worker.errors import PlacementWorkerError, ServiceFailed


@pytest.mark.parametrize('use', ['zones', 'regions', 'home_region', 'octavia'])
def test_unreachable_cloud_raises_cause_at_each_use(use):
    """Each use of an unreachable cloud raises the error that made it unreachable."""
    cause = ServiceFailed('Identity service unavailable')

    with pytest.raises(ServiceFailed) as failed:
        getattr(UnreachableCloud(cause), use)

    assert failed.value is cause


def test_api_error_has_status_and_delay():
    """An error of Octavia carries the HTTP status and the requested delay."""
    error = ApiError('Slow down', 429, 3.0)

    assert (str(error), error.status, error.retry_after_s) == ('Slow down', 429, 3.0)
    assert isinstance(error, PlacementWorkerError)


def test_api_error_without_response_has_no_status():
    """An error without a response has neither status nor delay."""
    error = ApiError('The connection broke')

    assert (error.status, error.retry_after_s) == (None, None)
