"""Real Keystone, Nova, Neutron and Octavia for the test run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openstack.connection import Connection

from tests.integration.cloud import Cloud

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They take minutes: tox -e integration."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope='session')
def openstack() -> Iterator[Cloud]:
    """The running cloud; every test makes load balancers of its own."""
    cloud = Cloud().start()
    yield cloud
    cloud.close()


@pytest.fixture(scope='session')
def admin(openstack: Cloud) -> Connection:
    """The administrator's connection to RegionOne."""
    return openstack.connect('admin')


@pytest.fixture(scope='session')
def demo(openstack: Cloud) -> Connection:
    """The connection of a plain user to RegionOne."""
    return openstack.connect('demo')
