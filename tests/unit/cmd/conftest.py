"""Fixtures for the tests of commands."""

from pathlib import Path

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions.records import DecisionLog
from placement_worker.handlers.service import Endpoints, WorkerSettings

CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}


@pytest.fixture
def run(program):
    """Run the program as `program` does, beside CLOUD in cloud.yaml, over which it checks `f`."""
    Path('cloud.yaml').write_text(yaml.safe_dump(CLOUD))

    def cli(*arguments, **files):
        is_check = arguments[0] == 'check' and 'f' in arguments
        return program(*arguments, *['--cloud', 'cloud.yaml'] * is_check, **files)

    return cli


@pytest.fixture
def recorded(registry, capsys):
    """Return a function that checks or attaches with the ids req-1, ..., and returns the log."""

    def record(*requests, host='', **zones):
        lines = []
        cloud = Inventory.parse({'zones': zones or {'a': True, 'b': True}}, 'test')
        endpoints = Endpoints(
            cloud, registry, WorkerSettings(recorder=DecisionLog(lines.append, host, {}))
        )
        for number, asked in enumerate(requests, start=1):
            decide = endpoints.policy_attach if 'policy' in asked else endpoints.policy_check
            decide(asked, f'req-{number}')
        capsys.readouterr()  # the log of the checks
        return b''.join(lines).decode()

    return record
