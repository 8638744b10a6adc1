"""The whole cloud for the test run."""

from collections.abc import Iterator

import pytest

from tests.cloud.managed import ManagedCluster
from tests.cloud.tally import Tally
from tests.cloud.whole_cloud import WholeCloud
from tests.failure_logs import pytest_runtest_makereport

__all__ = ['pytest_runtest_makereport']
TALLY = pytest.StashKey[Tally]()


def pytest_configure(config: pytest.Config) -> None:
    """Create the counts of the test run."""
    config.stash[TALLY] = Tally()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the test last that leaves the engines without the plugin."""
    items.sort(key=lambda item: item.path.name == 'test_switching.py')


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the counts of the test run."""
    for line in config.stash[TALLY].lines():
        terminalreporter.write_line(line)


@pytest.fixture
def tally(pytestconfig: pytest.Config) -> Tally:
    """The counts of kills."""
    return pytestconfig.stash[TALLY]


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
