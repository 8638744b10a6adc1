"""Keystone, Nova, Neutron and Octavia for the test run."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from placement_worker.handlers.service import Endpoints
from tests.integration import mariadb, trusts
from tests.integration.cloud import Cloud
from tests.integration.clusters import Cluster
from tests.integration.proxy import Proxy

HERE = Path(__file__).parent
LAST = 'test_many_servers.py'


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, which take minutes, and put those with many servers last."""
    items.sort(key=lambda item: item.path.name == LAST)
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope='session')
def openstack() -> Iterator[Cloud]:
    """The test cloud; each test creates its own load balancers."""
    cloud = Cloud().start()
    yield cloud
    cloud.close()


@pytest.fixture(scope='session')
def row_locks(openstack: Cloud) -> None:
    """A requirement of tests with concurrent changes in Octavia."""
    if not openstack.has_row_locks:
        pytest.fail(
            'needs MariaDB: apt-get install mariadb-server-core mariadb-client-core, '
            f'and {mariadb.CHOICE} not set to sqlite'
        )


@pytest.fixture
def trust(openstack: Cloud) -> Callable[..., str]:
    """A function that creates a trust of a plain user; see `Cloud.make_trust`."""
    return openstack.make_trust


@pytest.fixture
def proxy(openstack: Cloud) -> Iterator[Callable[..., Proxy]]:
    """A function that puts a proxy before a service, e.g. `proxy('compute', 'RegionTwo')`.

    The catalog points to the proxy until the test ends. Existing sessions may have cached the
    earlier URL. Use `Proxy.url` instead of `Cloud.auth_url` for Keystone.
    """
    with ExitStack() as stack:

        def stand_before(service_type: str, region: str = 'RegionOne') -> Proxy:
            made = Proxy(openstack.url(service_type, region))
            stack.callback(made.close)
            stack.enter_context(openstack.redirected(service_type, region, made.url))
            return made

        yield stand_before


@pytest.fixture
def make_endpoints(openstack: Cloud, tmp_path: Path) -> Callable[..., Endpoints]:
    """A function that creates endpoints of a worker; see `trusts.endpoints`."""
    return partial(trusts.endpoints, openstack, tmp_path)


@pytest.fixture
def endpoints(openstack: Cloud, tmp_path: Path) -> Endpoints:
    return trusts.endpoints(openstack, tmp_path)


@pytest.fixture
def cluster(openstack: Cloud, endpoints: Endpoints) -> Callable[[int], Cluster]:
    """A function that creates clusters with unique names."""
    return lambda size: Cluster(openstack, endpoints, f'cluster-{uuid.uuid4()}', size)
