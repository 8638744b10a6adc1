"""The commands in the manual and in the manual page of placement-policy."""

import importlib
from pathlib import Path

import pytest
from cliff import sphinxext

from placement_worker.cmd.base import LocalCommand
from placement_worker.cmd.cli import SUMMARIES, PlacementPolicy
from tests.unit.cmd.inputs import COMMANDS

FOLDER = Path(__file__).parents[3] / 'doc' / 'ext'


@pytest.fixture
def extension(monkeypatch):
    """Set up the extension of the manual that describes commands, for one test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for method in ('get_epilog', 'get_parser'):
        monkeypatch.setattr(LocalCommand, method, getattr(LocalCommand, method))
    importlib.import_module('command_examples').setup(None)


@pytest.mark.usefixtures('extension')
@pytest.mark.parametrize('name', COMMANDS)
def test_command_in_the_manual_has_summary_literal_examples_and_metavariables(name):
    """The manual shows a command as its help does, and no placeholder or docstring of the code."""
    command_class, _, _ = PlacementPolicy().command_manager.find_command(name.split())

    parser = command_class(None, None).get_parser(f'placement-policy {name}')
    page = '\n'.join(
        line if isinstance(line, str) else '\n'.join(line)
        for line in sphinxext._format_parser(parser)
    )

    assert page.startswith(SUMMARIES[name])
    assert '\nExamples::\n\n  placement-policy ' in page
    assert [
        line for line in page.split('\n') if line.startswith('.. option::') and '<' in line
    ] == []
    assert ':cvar' not in page
