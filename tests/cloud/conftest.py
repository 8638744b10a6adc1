"""The whole cloud for the test run."""

from collections.abc import Iterator

import pytest

from tests.cloud.managed import ManagedCluster
from tests.cloud.whole_cloud import WholeCloud
from tests.failure_logs import pytest_runtest_makereport

__all__ = ['pytest_runtest_makereport']


@pytest.fixture(scope='session')
def cloud() -> Iterator[WholeCloud]:
    """The whole cloud; each test creates its own clusters."""
    started = WholeCloud().start()
    yield started
    started.close()


@pytest.fixture(scope='session')
def managed(cloud: WholeCloud) -> ManagedCluster:
    """A cluster with all policies, which tests may change."""
    return ManagedCluster(cloud)
