"""Fixtures for records of decisions."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions.records import DecisionLog
from placement_worker.handlers.endpoints import Endpoints

CLOUD = {
    'zones': {'a': True, 'b': True},
    'regions': ['R1', 'R2'],
    'servers': {'s1': {'availability_zone': 'b'}},
    'networks': {'private': {'id': 'net1'}},
    'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private'}},
}


@pytest.fixture
def decide(registry):
    """Return a function that decides a request and returns its record and the reply."""

    def decided(asked, cloud=None, method='policy_check', registry=registry, **more):
        lines = []
        recorder = DecisionLog(lines.append)
        clouds = cloud or Inventory.parse(CLOUD, 'test')
        reply = getattr(Endpoints(clouds, registry, recorder=recorder, **more), method)(
            asked, 'req-1'
        )
        (line,) = lines
        return line, reply

    return decided
