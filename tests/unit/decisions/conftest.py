"""Fixtures for records of decisions."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions import node_history
from placement_worker.decisions.records import DecisionLog, LogReader
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy
from tests.simulated_octavia import DESCRIPTION

CLOUD = {
    **DESCRIPTION,
    'zones': {'a': True, 'b': True},
    'servers': {'s1': {'availability_zone': 'b'}},
}


@pytest.fixture
def decide(registry):
    """Return a function that decides a request and returns its record and the reply."""

    def decided(asked, cloud=None, method='policy_check', registry=registry, **more):
        lines = []
        recorder = DecisionLog(lines.append, None, {})
        clouds = cloud or Inventory.parse(CLOUD, 'test')
        reply = getattr(
            Endpoints(clouds, registry, WorkerSettings(recorder=recorder, **more)), method
        )(asked, 'req-1')
        (line,) = lines
        return line, reply

    return decided


def recorded(lab):
    """The endpoints of a lab, and the lines that they log."""
    lines = []
    return lab.endpoints(recorder=DecisionLog(lines.append, None, {})), lines


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a log per list of lines and returns their readers."""

    def paths(*logs):
        files = [tmp_path / f'log.{number}' for number in range(len(logs))]
        for file, lines in zip(files, logs, strict=True):
            file.write_bytes(b''.join(lines))
        return [LogReader(str(file)) for file in files]

    return paths


@pytest.fixture
def history(written, registry):
    """Return a function that writes logs of these lines and reads the events of a node."""

    return lambda name, *logs: list(node_history.events_of_node(written(*logs), name, registry))


def shrinking(count, *members, **more):
    policies = [zone_policy('a', 'b'), deletion_policy('OLDEST_FIRST')]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': count}, **more)


def shrinking_at_random(**more):
    members = [*nodes(a=2, b=1), node(4, physical_id='s1')]
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy('RANDOM')]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}, **more)
