"""The target of a command."""

from pathlib import Path

import pytest

from tests.factories import (
    request,
    zone_policy,
)

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize('timeout', ['0', '-1', 'soon', 'inf', 'nan'])
def test_timeout_that_is_not_a_positive_number_is_refused(run, timeout, capsys):
    """The option --timeout takes a positive number of seconds."""
    with pytest.raises(SystemExit) as ended:
        run('validate', 'f', f'--timeout={timeout}')

    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert 'argument --timeout: expected a number of seconds above 0 and less than 86400' in error
    assert f', got {timeout}; run ' in error


NOTE = (
    'This decision is for the shipped cloud of the examples; use --cloud FILE for another cloud\n'
)


@pytest.mark.parametrize(
    ('arguments', 'noted'),
    [
        (['check', 'own'], True),
        (['check', 'own', 'own', '--explain', 'full'], True),
        (['plan', 'own'], True),
        (['validate', 'spec', '--check-resources'], True),
        (['check', 'own', '--cloud', 'cloud.yaml'], False),
        (['check', 'own', '-f', 'json'], False),
        (['check', str(ROOT / 'examples' / 'scale-out.yaml')], False),
        (['check', 'scale-out.yaml'], False),  # as of a clone that the package was installed from
        (['validate', 'spec'], False),
    ],
)
def test_command_without_cloud_notes_the_shipped_cloud_once(run, arguments, noted):
    """A request of the user over the shipped cloud causes one note."""
    own = request('CLUSTER_SCALE_OUT', [zone_policy('az1', 'b')])

    Path('scale-out.yaml').write_bytes((ROOT / 'examples' / 'scale-out.yaml').read_bytes())

    status, _, err = run(*arguments, own=own, spec=zone_policy('az1')['spec'])

    assert status == (2 if arguments[0] == 'plan' else 0)
    assert err == (f'placement-policy {arguments[0]}: {NOTE}' if noted else '')


def test_cordon_file_closes_places_of_the_embedded_cloud(run):
    """A check in this process decides with the cordons of the file, and shows them."""
    own = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')])
    cordons = [{'zone': 'a', 'until': '2999-01-01T00:00:00Z', 'reason': 'fire'}]

    arguments = ['check', 'own', '--cloud', 'cloud.yaml', '--cordon-file', 'cordons']
    status, out, _ = run(*arguments, own=own, cordons=cordons)

    assert status == 0
    assert 'zones: b 1' in out
    assert 'cordoned until 2999-01-01 (fire)' in out


def test_cordon_file_that_is_invalid_is_refused_with_its_line(run):
    """The error shows the wrong line with a caret."""
    arguments = ['check', 'own', '--cloud', 'cloud.yaml', '--cordon-file', 'cordons']

    status, _, err = run(*arguments, own=request('CLUSTER_SCALE_OUT', []), cordons='- zone: a\n')

    assert status == 2
    assert err == (
        'placement-policy check: Invalid cordon file: cordons: Object missing required field '
        '`until` - at `$[0]` (line 1, column 3); correct the cordon file\n'
        '     1 | - zone: a\n'
        '       |   ^\n'
    )


def test_cordon_file_for_running_workers_is_refused(run):
    """Running workers have cordons of their own."""
    status, _, err = run('check', 'own', '--transport', 'rabbit://', '--cordon-file', 'x', own={})

    assert status == 2
    assert err.startswith(
        'placement-policy check: --cordon-file is for an embedded cloud; running workers use '
        '[placement] cordon_file'
    )
