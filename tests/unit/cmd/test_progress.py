"""The elapsed time of a command, shown on a terminal."""

import io
import threading

import pytest

from placement_worker.cmd import base, progress
from placement_worker.cmd.progress import Progress
from tests.malformed_requests import GOOD

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

    def screen(self):
        return self.getvalue().rpartition('\r\x1b[K')[2]


def test_progress_after_the_delay_is_shown_and_cleared_at_the_end():
    """A long run shows its time; nothing of it remains on the terminal."""
    terminal = Terminal()

    with Progress(terminal, 'check', delay_s=0):
        assert terminal.shown.wait(TIMEOUT_S)

    assert '\r\x1b[Kcheck: running for 0 s' in terminal.getvalue()
    assert terminal.screen() == ''


def test_progress_before_the_delay_prints_nothing():
    """A short run prints nothing."""
    terminal = Terminal()

    with Progress(terminal, 'check', delay_s=TIMEOUT_S):
        pass

    assert terminal.getvalue() == ''


def test_progress_while_hidden_leaves_the_line_to_other_output():
    """Other output begins on a cleared line."""
    terminal = Terminal()

    with Progress(terminal, 'check', delay_s=0, interval_s=TIMEOUT_S) as shown:
        assert terminal.shown.wait(TIMEOUT_S)
        with shown.hidden():
            terminal.write('output')

    assert terminal.screen() == 'output'


@pytest.mark.parametrize('is_terminal', [True, False])
def test_progress_of_a_command_needs_a_terminal(run, monkeypatch, is_terminal):
    """A command shows progress on a terminal only, never in a pipe or a file."""
    started = []

    class Recorded(Progress):
        def __init__(self, stream, name):
            super().__init__(stream, name, delay_s=progress.DELAY_S)
            started.append(name)

    monkeypatch.setattr(base, 'Progress', Recorded)
    monkeypatch.setattr('sys.stderr.isatty', lambda: is_terminal, raising=False)

    assert run('check', 'f', f=GOOD)[0] == 0
    assert started == (['placement-policy check'] if is_terminal else [])
