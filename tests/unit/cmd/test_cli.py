"""The program `placement-policy`: unknown commands, errors, locales and completion."""

import json
import logging
import os

import pytest
import yaml

from placement_worker.cmd import cli
from placement_worker.cmd.cli import SUMMARIES
from placement_worker.policies import plugin_checks
from tests.factories import request, zone_policy
from tests.unit.policies.good_policy import Good
from tests.unit.subprocesses import run_python


@pytest.mark.parametrize('form', ['table', 'json', 'yaml'])
def test_output_with_characters_that_the_locale_lacks_is_escaped(tmp_path, form):
    """A locale without Unicode loses no output, and standard input is UTF-8 in every locale."""
    asked = request(
        'CLUSTER_SCALE_OUT', [zone_policy('z\xfcrich', '\u65e5\u672c')], [], inputs={'count': 2}
    )
    cloud = {'zones': {'z\xfcrich': True, '\u65e5\u672c': True}}
    (tmp_path / 'cloud').write_text(json.dumps(cloud))

    arguments = ('-m', 'placement_worker', 'check', '-', '--cloud', 'cloud', '-f', form)
    ascii_only = {**os.environ, 'PYTHONIOENCODING': 'ascii'}
    text = json.dumps(asked, ensure_ascii=False).encode()
    done = run_python(*arguments, cwd=tmp_path, env=ascii_only, text=False, input=text)

    assert (done.returncode, done.stderr) == (0, b'')
    if form == 'table':
        assert b'zones: z\\u00fcrich 1, \\u65e5\\u672c 1' in done.stdout
    else:
        (answer,) = yaml.safe_load_all(done.stdout)
        assert answer['action']['data']['creation']['zones'] == {'z\xfcrich': 1, '\u65e5\u672c': 1}


@pytest.mark.parametrize(
    'arguments',
    [
        ['ping', '--config-file', 'o.conf'],
        ['ping', '--config-file=o.conf', '--zzz'],
        ['check', '-f', 'json'],
        ['cordon', 'add', '--config-file', 'w.conf', 'zone'],
    ],
)
def test_help_behind_other_arguments_is_that_of_the_command(run, arguments):
    """--help at the end of a command that is typed already shows the help of this command."""
    status, out, err = run(*arguments, '--help')

    name = ' '.join(arguments[: 2 if arguments[0] == 'cordon' else 1])
    assert (status, err) == (0, '')
    assert out.startswith(f'usage: placement-policy {name} ')


def test_help_of_a_group_lists_its_commands(run):
    """The words of a group are no unknown command."""
    status, out, err = run('help', 'cordon')

    assert (status, err) == (0, '')
    assert out.split()[-6:] == ['cordon', 'add', 'cordon', 'list', 'cordon', 'remove']


@pytest.mark.parametrize(
    ('name', 'text', 'logged'),
    [
        ('placement_worker.client.rpc_client', 'of the client', False),
        ('oslo.messaging._drivers.impl_rabbit', 'The broker has blocked', False),
        ('placement_worker.clients', 'of a plugin', True),
        ('placement_worker.handlers.request_log', 'printed by the command', False),
        ('placement_worker.handlers.decision_state', 'Request expired before', False),
    ],
)
def test_log_of_a_command_has_no_message_of_an_error_that_is_raised(name, text, logged):
    """The command prints the error itself, with a hint."""
    record = logging.LogRecord(name, logging.WARNING, 'f', 1, text, (), None)

    assert cli._is_not_printed(record) is logged


@pytest.mark.parametrize('arguments', [('type', 'list'), ('check', 'f')])
def test_text_that_a_plugin_prints_goes_to_standard_error(run, monkeypatch, arguments):
    """A program can parse the output of a command whatever a plugin prints."""

    class Printing(Good):
        interface = (2, 0)

        def check(self, request, state):
            print('text of a check')
            return super().check(request, state)

    def installed():
        print('text of an import')
        return [('test.good-1.0', Printing)]

    monkeypatch.setattr(plugin_checks, 'installed', installed)
    policy = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0'}}

    status, out, err = run(*arguments, '-f', 'json', f=request('CLUSTER_SCALE_OUT', [policy]))

    texts = ['text of an import', 'text of a check'][: 1 + (arguments[0] == 'check')]
    assert (status, err.splitlines()) == (0, texts)
    assert json.loads(out)


def test_overview_imports_no_command_and_shows_the_summary_of_each():
    """The program without arguments shows exactly the installed commands, and imports none."""
    done = run_python('-X', 'importtime', '-m', 'placement_worker')

    imported = {line.rpartition('|')[2].strip() for line in done.stderr.splitlines()}
    assert 'placement_worker.cmd.cli' in imported
    assert not imported & {'msgspec', 'yaml', 'placement_worker.cmd.check'}
    summaries = {**SUMMARIES, 'help': 'Print detailed help for another command.'}
    assert done.stdout.partition('\nCommands:\n')[2].splitlines() == [
        f'  {name:<13}  {summary.rstrip(".")}' for name, summary in sorted(summaries.items())
    ]
