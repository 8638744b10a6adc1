"""The command `placement-policy completion`."""

import shlex
import shutil
import subprocess

import pytest

from placement_worker.cmd import completion

TYPED = [
    ('pl', ['plan']),
    ('type ', ['list', 'show']),
    ('parked dr', ['drop']),
    ('check --explain ', ['none', 'summary', 'full']),
    ('check -f j', ['json']),
    ('check requ', ['request.yaml']),
    ('rebalance --max-s', ['--max-surge']),
    ('replay requ', ['request.yaml']),
    ('simulate requ', ['request.yaml']),
    ('completion z', ['zsh']),
    (
        'type show senlin.policy.z',
        ['senlin.policy.zone_placement-1.0', 'senlin.policy.zone_placement-1.1'],
    ),
    ('schema ping', []),
    ('schema policy_detach.req', ['policy_detach.request']),
]


@pytest.fixture
def script(run):
    """Return the completion script of a shell."""

    def printed(shell):
        status, out, err = run('completion', shell)
        assert (status, err) == (0, '')
        return out

    return printed


def _run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize('shell', completion.SHELLS)
def test_script_of_each_shell_has_commands_options_and_values(script, shell, tmp_path):
    """Each script has valid syntax, the commands, the options and the values of options."""
    text = script(shell)
    (tmp_path / 'script').write_text(text)

    if shutil.which(shell):
        done = _run(shell, '-n', str(tmp_path / 'script'))
        assert (done.returncode, done.stderr) == (0, '')

    for word in ('parked', 'drop', 'explain', 'summary', 'senlin.policy.zone_placement-1.0'):
        assert word in text


@pytest.mark.parametrize(('typed', 'offered'), TYPED)
def test_script_of_bash_offers_commands_options_values_and_files(script, tmp_path, typed, offered):
    """Bash completes commands, options, their values, names and files."""
    (tmp_path / 'request.yaml').touch()
    words = ['placement-policy', *typed.split(' ')]
    code = f'COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}\n'
    code += '_shtab_placement_policy; printf "%s\\n" "${COMPREPLY[@]}"'

    done = _run('bash', '-c', f'cd {tmp_path}\n{script("bash")}\n{code}')

    assert (done.stdout.split(), done.stderr) == (offered, '')
