"""The usability of placement-policy: help, completion, colors and error messages."""

import io
import json
import os
import shlex
import subprocess
import sys

import pytest
import yaml

from placement_worker import errors
from placement_worker.cmd import hints
from placement_worker.cmd.cli import PlacementPolicy
from tests.factories import balancing_policy, bind, deletion_policy, nodes, request, zone_policy

OURS = [
    'attach',
    'check',
    'detach',
    'parked drop',
    'parked list',
    'parked retry',
    'parked show',
    'ping',
    'plan',
    'replay',
    'simulate',
    'type list',
    'type show',
    'validate',
]
NOWHERE = 'rabbit://127.0.0.1:1/'
GOOD = request('CLUSTER_SCALE_IN', [zone_policy('az1'), deletion_policy()], nodes(az1=2))
FILES = {
    'bad': 'a: [',
    'binary': b'\xff\xfe\0',
    'empty': '',
    'text': 'hello',
    'keys': {'taget': 1},
    'scenario': {'titel': 1},
    'good': GOOD,
    'bind': bind(zone_policy('az1')),
    'spec': zone_policy('az1')['spec'],
}


def command_of(name):
    """Return a command and its parser."""
    app = PlacementPolicy()
    app.options = app.parser.parse_args([])
    factory, found, rest = app.command_manager.find_command(name.split())
    assert (found, rest) == (name, [])
    command = factory(app, app.options, cmd_name=name)
    return command, command.get_parser(f'placement-policy {name}')


def test_commands_are_the_documented_ones():
    """The program has exactly these commands."""
    assert (
        sorted(
            name
            for name, _ in PlacementPolicy().command_manager
            if name not in ('help', 'complete')
        )
        == OURS
    )


@pytest.mark.parametrize('name', OURS)
def test_help_of_a_command_shows_valid_examples_and_the_exit_status(program, name):
    """Each example in the help of a command is valid, and the help explains the exit status."""
    status, out, _ = program(*name.split(), '--help')
    command, parser = command_of(name)

    assert status == 0
    assert command.examples
    for example in command.examples:
        assert f'\n  {example}\n' in out
        words = shlex.split(example.partition(' < ')[0], comments=True)
        assert ' '.join(words).startswith(f'placement-policy {name}')
        parser.parse_args(words[1 + len(name.split()) :])
    assert ('Exit status: 0 ' in out) is (name not in ('type list', 'type show'))
    assert max(map(len, out.splitlines())) <= 110


ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
]
READING = ['check', 'plan', 'attach', 'detach', 'validate']
ASKING = {
    'check': ['good'],
    'plan': ['good'],
    'attach': ['bind'],
    'detach': ['bind'],
    'validate': ['spec'],
    'ping': [],
    'type list': [],
    'type show': ['x'],
    'parked list': [],
    'parked show': ['1'],
    'parked drop': ['1'],
    'parked retry': ['1'],
}


@pytest.mark.parametrize(
    'arguments',
    [
        *(
            [name, wrong]
            for name in READING
            for wrong in ('none', '.', 'bad', 'binary', 'empty', 'text', 'keys')
        ),
        *([*name.split(), *rest, '--transport', NOWHERE] for name, rest in ASKING.items()),
        *([*name.split(), *rest, '--transport', 'nonsense'] for name, rest in ASKING.items()),
        *([*name.split(), *rest, '--config-file', 'none'] for name, rest in ASKING.items()),
        *([*name.split(), *rest, '--config-file', 'text'] for name, rest in ASKING.items()),
        *([*name.split(), *rest, '--nonsense'] for name, rest in ASKING.items()),
        *(['check', 'good', '--cloud', wrong] for wrong in ('none', '.', 'bad', 'text', 'keys')),
        *(['replay', wrong] for wrong in ('none', '.', 'text', 'keys')),
        *(
            ['simulate', wrong]
            for wrong in ('none', '.', 'bad', 'binary', 'empty', 'text', 'scenario')
        ),
        ['ping'],
        ['type', 'show', 'nonsense'],
        ['check'],
        ['nonsense'],
        ['--nonsense'],
        ['type', 'nonsense'],
    ],
    ids=' '.join,
)
def test_command_with_an_error_prints_one_line_with_a_hint(program, arguments):
    """Each error is one line that ends with a hint, and never a traceback."""
    status, _, err = program(*arguments, **FILES)

    what_to_do = [
        *(hint for _, hint in hints._HINTS),
        'for the usage',
        'for the list of commands',
        'for the installed types',
        'correct the file',
        'name a file or a shipped scenario: ',
        'skipped the line',
        'use one document per scenario',
    ]
    assert status == (1 if arguments[0] == 'plan' else 2)
    assert err.startswith('placement-policy')
    assert err.count('\n') == 1, err
    assert any(f'; {end}' in err or f' {end}' in err for end in what_to_do), err
    assert 'Traceback' not in err
    assert 'Error' not in err


@pytest.mark.parametrize('kind', ERRORS, ids=lambda kind: kind.__name__)
def test_with_hint_of_each_error_of_a_command_adds_a_hint(kind):
    """Each type of error that a command can report has a hint."""
    inside_replies = issubclass(kind, errors.Rejected) and not issubclass(
        kind, errors.CloudUnavailable
    )
    roots = (errors.PlacementWorkerError,)

    assert ('; ' in hints.with_hint(kind('It is wrong.'))) is not (inside_replies or kind in roots)


def test_with_hint_of_a_refusal_advises_to_correct_the_cause():
    """A refused request of a service is not worth waiting for."""
    refused = (
        'Compute service refused the request: HTTP 403; check that the roles let it list zones'
    )

    assert (
        hints.with_hint(errors.ServiceRefused(refused))
        == f'{refused}; correct the cause and try again'
    )


def test_with_hint_of_an_error_that_names_a_command_adds_none():
    """An error that names a command needs no second hint."""
    text = 'No parked request 7; run "placement-policy parked list" for the parked requests'

    assert hints.with_hint(errors.InvalidRequest(text)) == text


def test_command_with_a_closed_pipe_ends_silently(tmp_path):
    """A reader that closes the pipe early causes no error message."""
    (tmp_path / 'lines').write_text('\n'.join([json.dumps(GOOD)] * 5000))
    program = f'{shlex.quote(sys.executable)} -m placement_worker'

    done = subprocess.run(
        ['bash', '-c', f'{program} check --lines lines | head -n 1; exit ${{PIPESTATUS[0]}}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.count('\n'), done.stderr) == (141, 1, '')


@pytest.mark.parametrize('form', ['table', 'json', 'yaml'])
def test_output_with_characters_that_the_locale_lacks_is_escaped(tmp_path, form):
    """A locale without Unicode loses no output, and standard input is UTF-8 in every locale."""
    asked = request(
        'CLUSTER_SCALE_OUT', [zone_policy('z\xfcrich', '\u65e5\u672c')], [], inputs={'count': 2}
    )
    (tmp_path / 'cloud').write_text(
        json.dumps({'zones': {'z\xfcrich': True, '\u65e5\u672c': True}})
    )

    done = subprocess.run(
        [sys.executable, '-m', 'placement_worker', 'check', '-', '--cloud', 'cloud', '-f', form],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONIOENCODING': 'ascii'},
        capture_output=True,
        check=False,
        input=json.dumps(asked, ensure_ascii=False).encode(),
    )

    assert (done.returncode, done.stderr) == (0, b'')
    if form == 'table':
        assert b'zones: z\\u00fcrich 1, \\u65e5\\u672c 1' in done.stdout
    else:
        (answer,) = yaml.safe_load_all(done.stdout)
        assert answer['action']['data']['creation']['zones'] == {'z\xfcrich': 1, '\u65e5\u672c': 1}


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


STAND_IN = """
_get_comp_words_by_ref() {  # the part of bash-completion that the script needs
    words=("${COMP_WORDS[@]}"); cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}
}
"""


@pytest.mark.parametrize(
    ('typed', 'completed'),
    [
        (['pl'], ['plan']),
        (['type', ''], ['list', 'show']),
        (['parked', 'dr'], ['drop']),
        (['simulate', '--rep'], ['--report']),
        (['check', '--exp'], ['--explain']),
        (['check', 'requ'], ['request.yaml']),
    ],
    ids=lambda words: '-'.join(words) if isinstance(words, list) else '',
)
def test_completion_in_bash_offers_commands_options_and_files(tmp_path, typed, completed):
    """The completion script of bash completes commands, options and files."""
    (tmp_path / 'request.yaml').touch()
    script = subprocess.run(
        [sys.executable, '-m', 'placement_worker', 'complete'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    words = ' '.join(map(shlex.quote, ['placement-policy', *typed]))
    code = f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _placement_policy; '
    code += r'printf "%s\n" "${COMPREPLY[@]}"'

    done = subprocess.run(
        ['bash', '-c', f'{STAND_IN}\n{script}\n{code}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout.split(), done.stderr) == (completed, '')


def test_plan_with_an_unattached_policy_explains_it_in_the_reply(program):
    """A load-balancing policy without attachment is a reason of the reply, not an error."""
    asked = request('CLUSTER_SCALE_IN', [balancing_policy()], nodes(az1=2))

    _, out, err = program('plan', 'f', '--cloud', 'cloud', f=asked, cloud={'zones': {'az1': True}})

    assert err == ''
    assert 'attach the policy before it is checked' in out
