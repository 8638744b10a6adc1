"""placement-policy, run inside the tests' process, and fake OpenStack services."""

import json
import logging
import sys
from pathlib import Path

import pytest

from placement_worker.cmd.cli import PlacementPolicy
from tests.unit.cloud.fake_services import FakeServices


@pytest.fixture
def services():
    made = FakeServices()
    yield made
    made.close()


@pytest.fixture
def program(capsys, monkeypatch, tmp_path):
    """Run the program in a folder of its own, over files given as keywords; returns exit status,
    output and errors.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        logging.getLogger(), 'handlers', []
    )  # the program adds its own, to this test's streams

    def run(*arguments, **files):
        for name, content in files.items():
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        app = PlacementPolicy()
        app.stdout, app.stderr = sys.stdout, sys.stderr
        try:
            status = app.run(list(arguments))
        except SystemExit as ended:  # argparse's way
            status = ended.code
        out, err = capsys.readouterr()
        return status, out, err

    return run
