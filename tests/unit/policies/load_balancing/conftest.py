"""Fixtures for tests of the load-balancing policy."""

import pytest

from tests.factories import connected
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import ids_of


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def scaled_out(lab):
    """A policy and four nodes, of which n3 and n4 are new: they have no members yet."""
    policy, members = lab.attached([connected(1), connected(2)])
    return policy, [*members, connected(3), connected(4)]


@pytest.fixture
def four_members(lab):
    """A policy with a load balancer of its own, and four nodes with members, n1 to n4."""
    return lab.attached([connected(number) for number in range(1, 5)])


@pytest.fixture(params=['own', 'existing'])
def web(lab, request):
    """A cluster of n1 and n2 behind a load balancer: policy and nodes."""
    if request.param == 'own':
        return lab.attached([connected(1), connected(2)])
    policy, members = lab.attached([connected(1), connected(2)], **lab.existing())
    ids_of(policy)['loadbalancer'] = 'front'  # as Senlin has stored it
    return policy, members
