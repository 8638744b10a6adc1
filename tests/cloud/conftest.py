"""The whole cloud for the test run."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from tests.cloud import background, operations
from tests.cloud.background import BackgroundCalls
from tests.cloud.clusters import ManagedCluster
from tests.cloud.whole_cloud import WholeCloud
from tests.failure_logs import pytest_runtest_makereport

__all__ = ['pytest_runtest_makereport']
CALLS = pytest.StashKey[BackgroundCalls]()
Tally = Counter[tuple[str, str, str]]
TALLY = pytest.StashKey[Tally]()
# The module whose test begins first, because Senlin sleeps in it for more than a minute.
LONGEST = 'test_switching.py'


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CALLS] = BackgroundCalls()
    config.stash[TALLY] = Counter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=background.part_of)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Wait for a test that runs in the background, instead of calling it."""
    calls = pyfuncitem.config.stash[CALLS]
    if not calls.has(pyfuncitem.nodeid):
        return None
    calls.result(pyfuncitem.nodeid)
    return True


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = [(*key, str(count)) for key, count in sorted(config.stash[TALLY].items())]
    for row in [('killed', 'action', 'status', 'count'), *rows] if rows else []:
        terminalreporter.write_line('{:10}{:16}{:12}{:>6}'.format(*row))


@pytest.fixture
def tally(pytestconfig: pytest.Config) -> Tally:
    """The numbers of actions by the process that was killed meanwhile, name and status."""
    return pytestconfig.stash[TALLY]


@pytest.fixture(scope='session')
def background_calls(pytestconfig: pytest.Config) -> BackgroundCalls:
    return pytestconfig.stash[CALLS]


@pytest.fixture(scope='session')
def cloud(
    request: pytest.FixtureRequest, background_calls: BackgroundCalls
) -> Iterator[WholeCloud]:
    """The whole cloud; each test creates its own clusters."""
    started = WholeCloud().start()
    begin(background.EARLY, request.session.items, background_calls, started)
    if any('prepared' in item.fixturenames for item in request.session.items):
        background_calls.begin(operations.PREPARED, partial(operations.prepare, started))
    yield started
    background_calls.cancel()
    started.close()


@pytest.fixture(scope='module', autouse=True)
def _later_or_alone(
    request: pytest.FixtureRequest, cloud: WholeCloud, background_calls: BackgroundCalls
) -> None:
    """Begin the later tests at the first of them, and the others when all calls have ended."""
    if request.node.get_closest_marker('later'):
        begin(background.LATER, request.session.items, background_calls, cloud)
    if request.node.get_closest_marker('alone'):
        background_calls.wait()


def begin(part: int, items: list[pytest.Item], calls: BackgroundCalls, cloud: WholeCloud) -> None:
    """Begin the tests of a part, unless they have begun; the longest one is the first."""
    tests = [
        item for item in items if background.part_of(item) == part and not calls.has(item.nodeid)
    ]
    for item in sorted(tests, key=lambda item: item.path.name != LONGEST):
        calls.begin(item.nodeid, partial(item.obj, cloud))


@pytest.fixture(scope='session')
def managed(cloud: WholeCloud) -> ManagedCluster:
    """A cluster with all policies, which tests may change."""
    return ManagedCluster(cloud)
