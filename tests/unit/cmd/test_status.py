"""The program `placement-worker-status`; the upgrade check: test_upgrade.py."""

import sys

import pytest

from placement_worker.cmd import status


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program; return exit status, output and errors."""

    def run_program(*arguments):
        monkeypatch.setattr(sys, 'argv', ['placement-worker-status', *arguments])
        code = status.main()
        out, err = capsys.readouterr()
        return code, out, err

    return run_program


@pytest.mark.parametrize('arguments', [(), ('--help',)])
def test_status_without_a_command_prints_the_usage(run, arguments):
    """The usage explains each command and its exit status."""
    code, out, err = run(*arguments)

    assert (code, err) == (0, '')
    assert all(name in out for name in ('liveness:', 'readiness:', 'upgrade check:'))


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ('--conf-file', 'f', 'upgrade', 'check'),
            'Unknown option --conf-file (did you mean --config-file?); run '
            '"placement-worker-status --help" for the usage',
        ),
        (
            ('upgrade', 'check', '--config-file', 'f'),
            'Move --config-file before "upgrade check"; run "placement-worker-status --help" for '
            'the usage',
        ),
        (('livness',), 'Unknown command "livness". Did you mean "liveness"?'),
    ],
)
def test_status_with_a_misspelt_argument_names_the_one_that_is_meant(run, arguments, message):
    """A wrong option or command is reported in one line, with exit status 2."""
    assert run(*arguments) == (2, '', f'placement-worker-status: {message}\n')


@pytest.mark.parametrize('age', ['0', '-1', 'inf', 'soon'])
def test_probe_with_an_invalid_age_is_refused(run, capsys, age):
    """The maximum age of the file is a positive number of seconds."""
    with pytest.raises(SystemExit) as ended:
        run('liveness', '--file', 'x', f'--max-age={age}')

    assert ended.value.code == 2
    assert f'expected a number of seconds above 0, got {age}' in capsys.readouterr().err
