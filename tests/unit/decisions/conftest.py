"""Fixtures for records of decisions."""

import datetime

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.decisions import node_history
from placement_worker.decisions.records import DecisionLog, LogReader
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, request, zone_policy

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
    endpoints = Endpoints(
        lab,
        Registry.installed(),
        WorkerSettings(
            recorder=DecisionLog(lines.append, None, {}),
            octavia_settings=lambda: OctaviaSettings(
                lab.batch_members, sleep=lab.clock.sleep, clock=lab.clock
            ),
            now=lambda: datetime.datetime.fromtimestamp(lab.clock(), datetime.UTC),
        ),
    )
    return endpoints, lines


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
