"""The overview of the commands of placement-policy."""

import subprocess
import sys
from importlib import metadata

from placement_worker.cmd import cli, command_manager
from placement_worker.cmd.summaries import SUMMARIES


def test_overview_imports_no_command():
    """`placement-policy --help` imports neither a command nor the libraries of commands."""
    done = subprocess.run(
        [sys.executable, '-X', 'importtime', '-m', 'placement_worker', '--help'],
        capture_output=True,
        text=True,
        check=True,
    )

    imported = {line.rpartition('|')[2].strip() for line in done.stderr.splitlines()}
    assert 'placement_worker.cmd.command_manager' in imported
    assert not imported & {
        'msgspec',
        'yaml',
        'placement_worker.cmd.check',
        'placement_worker.handlers.endpoints',
    }


def test_overview_shows_each_command_with_its_summary(capsys):
    """The overview has a line for each command, those of cliff included."""
    program = cli.PlacementPolicy()
    program.stdout = sys.stdout

    command_manager.print_overview(program)

    shown = capsys.readouterr().out.splitlines()
    for found in metadata.entry_points(group=cli.NAMESPACE):
        name = found.name.replace('_', ' ')
        assert f'  {name:<13}  {SUMMARIES[name].rstrip(".")}' in shown
    assert '  help           Print detailed help for another command' in shown
