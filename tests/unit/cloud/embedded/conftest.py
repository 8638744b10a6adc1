"""A simulated Octavia on a clock that the tests advance."""

import pytest

from placement_worker.cloud.embedded.octavia_simulator import (
    MemoryStore,
    OctaviaSimulator,
    Settings,
)
from tests.simulated_octavia import Clock
from tests.unit.cloud.embedded.load_balancers import NESTED


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def octavia(clock):
    """A simulator in which each change takes 2 s."""
    subnets = {'sub1': '10.0.0.0/24'}
    return OctaviaSimulator(Settings(pending_s=2), MemoryStore(), subnets, 'R1', now=clock)


@pytest.fixture
def built(octavia, clock):
    lb = octavia.create('loadbalancer', NESTED)
    clock.sleep(2)
    return lb['id'], lb['pools'][0]['id']
