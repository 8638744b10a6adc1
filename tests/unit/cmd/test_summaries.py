"""The summaries of the commands."""

from importlib import metadata

import pytest

from placement_worker.cmd import cli
from placement_worker.cmd.summaries import SUMMARIES


def test_summaries_name_exactly_the_installed_commands():
    """Each command has a summary, and each summary belongs to a command."""
    commands = {
        found.name.replace('_', ' ') for found in metadata.entry_points(group=cli.NAMESPACE)
    }

    assert set(SUMMARIES) == commands


@pytest.mark.parametrize('name', SUMMARIES)
def test_help_of_a_command_begins_with_its_summary(program, name):
    """The overview and the help of a command describe it in the same words."""
    _, out, _ = program(*name.split(), '--help')

    assert SUMMARIES[name] in ' '.join(out.split())
