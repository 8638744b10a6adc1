"""The behavior that all commands share."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from unittest.mock import Mock

import pytest

from placement_worker.cmd.base import Progress
from placement_worker.cmd.cli import SUMMARIES, PlacementPolicy
from tests.unit.cmd.inputs import COMMANDS, GOOD


def command_of(name):
    """Return a command and its parser."""
    app = PlacementPolicy()
    app.options = app.parser.parse_args([])
    factory, found, rest = app.command_manager.find_command(name.split())
    assert (found, rest) == (name, [])
    command = factory(app, app.options, cmd_name=name)
    return command, command.get_parser(f'placement-policy {name}')


@pytest.mark.parametrize('name', COMMANDS)
def test_help_of_a_command_has_its_summary_valid_examples_and_the_exit_status(program, name):
    """The overview and the help use the same words, which have no markup; examples are valid."""
    status, out, _ = program(*name.split(), '--help')
    command, parser = command_of(name)

    text = ' '.join(out.split())
    assert status == 0
    assert out.startswith('usage: ')
    assert SUMMARIES[name] in text
    assert command.examples
    for example in command.examples:
        assert f'\n  {example}\n' in out
        words = shlex.split(re.split(' [<>] ', example)[0], comments=True)
        assert ' '.join(words).startswith(f'placement-policy {name}')
        parser.parse_args(words[1 + len(name.split()) :])
    assert 'Exit status: 0 ' in text
    assert max(map(len, out.splitlines())) <= 110
    assert re.findall(r'``|:[a-z]+:`', out) == []


@pytest.mark.parametrize(
    ('line', 'status', 'count'),
    [
        ('check --lines lines | head -n 1; exit ${PIPESTATUS[0]}', 141, 1),
        ('type list | true; exit ${PIPESTATUS[0]}', 141, 0),
        ('type list >&-', 0, 0),
    ],
    ids=['pipe', 'table', 'output'],
)
def test_command_with_a_closed_pipe_or_output_ends_silently(tmp_path, line, status, count):
    """A reader that closes the pipe early, or a closed output, causes no error message."""
    (tmp_path / 'lines').write_text('\n'.join([json.dumps(GOOD)] * 5000))
    command = f'{shlex.quote(sys.executable)} -m placement_worker {line}'

    buffered = {**os.environ, 'PYTHONUNBUFFERED': ''}
    bash = ['bash', '-c', command]
    done = subprocess.run(
        bash, cwd=tmp_path, env=buffered, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.count('\n'), done.stderr) == (status, count, '')


TIMEOUT_S = 60


class Terminal(io.StringIO):
    """A terminal that signals when the elapsed time is shown."""

    def __init__(self):
        super().__init__()
        self.shown = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        if 'running for' in text:
            self.shown.set()
        return super().write(text)


def test_progress_after_the_delay_is_cleared_for_other_output_and_at_the_end():
    """A long run shows its time; nothing of it remains on the terminal."""
    terminal = Terminal()

    with Progress(terminal, 'check', delay_s=0, interval_s=TIMEOUT_S) as progress:
        assert terminal.shown.wait(TIMEOUT_S)
        with progress.hidden():
            terminal.write('output')

    assert '\r\x1b[Kcheck: running for 0 s' in terminal.getvalue()
    assert terminal.getvalue().rpartition('\r\x1b[K')[2] == 'output'


def test_progress_before_the_delay_prints_nothing():
    """A short run prints nothing."""
    terminal = Terminal()

    with Progress(terminal, 'check', delay_s=TIMEOUT_S):
        pass

    assert terminal.getvalue() == ''


@pytest.mark.parametrize('is_terminal', [True, False])
def test_progress_of_a_command_needs_a_terminal(run, monkeypatch, is_terminal):
    """A command shows progress on a terminal only, never in a pipe or a file."""
    started = Mock()
    monkeypatch.setattr(Progress, '__enter__', started)
    monkeypatch.setattr(Progress, '__exit__', Mock())
    monkeypatch.setattr('sys.stderr.isatty', lambda: is_terminal, raising=False)

    assert run('type', 'list')[0] == 0
    assert started.called is is_terminal
