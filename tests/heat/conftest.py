"""The cloud for the test run."""

from collections.abc import Iterator

import pytest

from tests.failure_logs import pytest_runtest_makereport
from tests.heat.heat_cloud import HeatCloud

__all__ = ['pytest_runtest_makereport']


@pytest.fixture(scope='session')
def cloud() -> Iterator[HeatCloud]:
    """The cloud; each test creates its own stacks."""
    started = HeatCloud().start()
    yield started
    started.close()
