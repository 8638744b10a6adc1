"""The overview of placement-policy's commands, which imports none of them."""

import subprocess
import sys
from importlib import metadata

from placement_worker.cmd import cli, command_manager


def test_the_overview_imports_no_command():
    told = subprocess.run(
        [sys.executable, '-X', 'importtime', '-m', 'placement_worker', '--help'],
        capture_output=True,
        text=True,
        check=True,
    )

    imported = {line.rpartition('|')[2].strip() for line in told.stderr.splitlines()}
    assert 'placement_worker.cmd.command_manager' in imported
    assert not imported & {
        'msgspec',
        'yaml',
        'placement_worker.cmd.check',
        'placement_worker.handlers.endpoints',
    }


def test_the_overview_has_each_command_with_the_first_line_of_its_docstring(capsys):
    program = cli.PlacementPolicy()
    program.stdout = sys.stdout

    command_manager.print_overview(program)

    shown = capsys.readouterr().out.splitlines()
    for found in metadata.entry_points(group=cli.NAMESPACE):
        first = found.load().__doc__.partition('\n')[0].rstrip('.')
        assert f'  {found.name.replace("_", " "):<13}  {first}' in shown
