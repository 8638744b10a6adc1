"""Fixtures for the tests of commands."""

import json
import logging
import sys
from pathlib import Path

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.decisions.records import DecisionLog
from placement_worker.handlers.endpoints import Endpoints

CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the program in a folder of its own; return exit status, output and errors."""
    monkeypatch.chdir(tmp_path)
    # The program adds handlers of its own, for the streams of this test.
    monkeypatch.setattr(logging.getLogger(), 'handlers', [])
    Path('cloud.yaml').write_text(yaml.safe_dump(CLOUD))

    def cli(*arguments, **files):
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            Path(name).write_text(text, encoding='utf-8')
        app = PlacementPolicy()
        app.stdout, app.stderr = sys.stdout, sys.stderr
        own_cloud = (
            ['--cloud', 'cloud.yaml'] if arguments[0] == 'check' and 'f' in arguments else []
        )
        status = app.run([*arguments, *own_cloud])
        out, err = capsys.readouterr()
        return status, out, err

    return cli


@pytest.fixture
def recorded(registry, capsys):
    """Return a function that checks requests with the ids req-1, ..., and returns their log."""

    def record(*requests, host='', **zones):
        lines = []
        cloud = Inventory.parse({'zones': zones or {'a': True, 'b': True}}, 'test')
        endpoints = Endpoints(cloud, registry, recorder=DecisionLog(lines.append, host))
        for number, asked in enumerate(requests, start=1):
            endpoints.policy_check(asked, f'req-{number}')
        capsys.readouterr()  # the log of the checks
        return b''.join(lines).decode()

    return record
