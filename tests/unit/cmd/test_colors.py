"""Colors on terminals."""

import io

import pytest

from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.cmd.colors import Paint
from tests.unit.cmd.inputs import FILES


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ('arguments', 'colored'),
    [
        (['check', 'good'], '\x1b[32mOK\x1b[0m'),
        (['plan', 'good'], '\x1b[31m- az1'),
        (['attach', 'bind'], '\x1b[32mOK\x1b[0m'),
        (['simulate', 'capped-regions'], '\x1b[31mERROR\x1b[0m'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else '',
)
def test_command_on_a_terminal_is_colored_unless_no_color_is_set(
    program, monkeypatch, arguments, colored
):
    """Output has colors on a terminal only, and none with NO_COLOR."""
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.delenv('NO_COLOR', raising=False)
    program('type', 'list', **FILES)  # writes the files

    def shown():
        app = PlacementPolicy()
        app.stdout = Terminal()
        app.run(arguments)
        return app.stdout.getvalue()

    assert colored in shown()
    monkeypatch.setenv('NO_COLOR', '1')
    assert '\x1b' not in shown()
    assert '\x1b' not in program(*arguments)[1]


class Screen:
    def isatty(self):
        return True


class Pipe:
    def isatty(self):
        return False


@pytest.mark.parametrize(
    ('stream', 'environ', 'colored'),
    [
        (Screen(), {'TERM': 'xterm'}, True),
        (Screen(), {'TERM': 'xterm', 'NO_COLOR': ''}, True),
        (Screen(), {'TERM': 'xterm', 'NO_COLOR': '1'}, False),
        (Screen(), {'TERM': 'dumb'}, False),
        (Pipe(), {'TERM': 'xterm'}, False),
    ],
)
def test_paint_of_a_stream_is_on_for_capable_terminals_only(stream, environ, colored):
    """Colors are on for a capable terminal without NO_COLOR."""
    assert (Paint.of(stream, environ)('x', 'red') != 'x') is colored
