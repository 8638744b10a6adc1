"""Fixtures for the tests of commands."""

import json
import logging
import sys
from pathlib import Path

import pytest
import yaml

from placement_worker.cmd.cli import PlacementPolicy

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
