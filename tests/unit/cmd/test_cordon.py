"""The commands that list and edit cordons."""

import json
import re
import shlex
from pathlib import Path

import pytest

ADD = ('cordon', 'add', '--cordon-file', 'cordons')
REMOVE = ('cordon', 'remove', '--cordon-file', 'cordons')
LIST = ('cordon', 'list', '--cordon-file', 'cordons')
UNTIL = '2999-12-01T06:00Z'
GUIDES = sorted((Path(__file__).parents[3] / 'deploy').glob('*/README.rst'))


def refused(run, capsys, *arguments):
    """Return the error of arguments that argparse refuses."""
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_add_closes_a_place_and_list_shows_it(run):
    """An added cordon is listed with its end, its state and its reason."""
    arguments = ('--zone', 'az1', '--until', UNTIL, '--reason', 'new switches')

    assert run(*ADD, *arguments) == (
        0,
        'zone az1 is cordoned until 2999-12-01T06:00:00Z (new switches)\n',
        '',
    )
    run(*ADD, '--region', 'R2', '--evacuate', '--until', '2999-12-24T18:00+01:00')
    status, out, _ = run(*LIST)

    assert status == 0
    assert [line for line in out.splitlines() if not line.startswith('+')] == [
        '| place     | until                     | state     | reason       |',
        '| zone az1  | 2999-12-01 06:00:00Z      | closed    | new switches |',
        '| region R2 | 2999-12-24 18:00:00+01:00 | evacuated |              |',
    ]


def test_list_fits_into_80_columns_and_escapes_names(run):
    """Long and hostile names neither widen the table nor control the terminal."""
    cordons = [
        {'zone': 'z' * 60, 'region': 'r' * 60, 'until': '2999-12-24T18:00:00+01:00'},
        {'zone': 'a\x1b[2J', 'until': '2000-01-01T00:00:00Z', 'reason': 'very long ' * 15},
    ]

    _, out, _ = run(*LIST, cordons=cordons)

    assert max(map(len, out.splitlines())) <= 80
    assert '\x1b' not in out
    assert '| ended ' in out


def test_list_as_json_has_the_fields_of_the_file(run):
    """A script reads the cordons, and whether each is in force."""
    cordons = [
        {'zone': 'a', 'until': '2999-12-24T18:00:00+01:00'},
        {'region': 'R1', 'until': '2000-01-01T00:00:00Z', 'evacuate': True},
    ]

    _, out, _ = run(*LIST, '-f', 'json', cordons=cordons)

    assert json.loads(out) == [
        {**cordons[0], 'in_force': True},
        {**cordons[1], 'in_force': False},
    ]


def test_list_of_no_cordons_says_so(run):
    """An empty table would look like an error."""
    assert run(*LIST, cordons='[]') == (0, 'No cordons.\n', '')


def test_list_of_a_missing_file_fails_with_the_path(run):
    """A wrong path is an error, not an empty list."""
    assert run(*LIST) == (
        2,
        '',
        'placement-policy cordon list: Cannot read the cordon file: cordons: No such file or '
        'directory; create it, and write [] for no cordons\n',
    )


def test_list_of_an_invalid_file_shows_the_line(run):
    """The error has the line, the column and a caret."""
    _, _, err = run(*LIST, cordons='- zone: a\n  until: soon\n')

    assert '`$[0].until` (line 2, column 10); correct the cordon file\n' in err
    assert err.endswith('     2 |   until: soon\n       |          ^\n')


def test_add_of_a_cordoned_place_needs_replace(run):
    """A cordon is not shortened or prolonged by accident."""
    run(*ADD, '--zone', 'a', '--until', UNTIL, '--reason', 'fire')

    status, _, err = run(*ADD, '--zone', 'a', '--until', '2999-12-02T06:00Z')

    assert status == 2
    assert err == (
        'placement-policy cordon add: zone a is cordoned until 2999-12-01T06:00:00Z (fire); use '
        '--replace to replace this cordon with a new one; correct the option\n'
    )
    assert run(*ADD, '--zone', 'a', '--until', '2999-12-02T06:00Z', '--replace')[0] == 0
    _, out, _ = run(*LIST, '-f', 'json')
    assert [one['until'] for one in json.loads(out)] == ['2999-12-02T06:00:00Z']


def test_add_of_a_place_whose_cordon_has_ended_replaces_it(run):
    """A cordon that has ended needs no --replace."""
    ended = [{'zone': 'a', 'until': '2000-01-01T00:00:00Z'}]

    assert run(*ADD, '--zone', 'a', '--until', UNTIL, cordons=ended)[0] == 0
    assert len(json.loads(run(*LIST, '-f', 'json')[1])) == 1


@pytest.mark.parametrize(
    ('until', 'error'),
    [
        ('tomorrow', 'expected a time in ISO 8601 with its offset, e.g. 2026-12-01T06:00Z'),
        ('2999-12-01T06:00', 'expected a time in ISO 8601 with its offset'),
        ('2000-12-01T06:00Z', 'expected a time in the future'),
    ],
)
def test_add_until_a_time_that_is_not_in_the_future_is_refused(run, capsys, until, error):
    """The end of a cordon is a moment that is the same on every host."""
    err = refused(run, capsys, *ADD, '--zone', 'a', '--until', until)

    assert f'{error}, got {until}; run ' in err or f'2026-12-01T06:00Z, got {until}; run ' in err
    assert not Path('cordons').exists()


@pytest.mark.parametrize(
    ('option', 'most'), [('--zone', 255), ('--region', 255), ('--reason', 200)]
)
def test_add_with_a_text_that_is_too_long_is_refused(run, capsys, option, most):
    """The file stays readable for the worker."""
    given = ('--zone', 'a', '--until', UNTIL, option, 'x' * (most + 1))

    err = refused(run, capsys, *ADD, *given)

    assert f'expected 1 to {most} characters, got {most + 1}' in err


@pytest.mark.parametrize('command', [(*ADD, '--until', UNTIL), REMOVE])
def test_command_without_a_place_is_refused(run, command):
    """No command closes or opens everything."""
    status, _, err = run(*command)

    assert status == 2
    assert 'Expected --zone, --region or both, got none' in err


def test_remove_opens_the_place_alone(run):
    """Only the cordon of exactly this zone and region is removed."""
    cordons = [
        {'zone': 'a', 'until': '2999-01-01T00:00:00Z'},
        {'zone': 'a', 'region': 'R1', 'until': '2999-01-01T00:00:00Z'},
    ]

    assert run(*REMOVE, '--zone', 'a', cordons=cordons) == (
        0,
        'Removed the cordon of zone a\n',
        '',
    )
    assert [one['region'] for one in json.loads(run(*LIST, '-f', 'json')[1])] == ['R1']


def test_remove_of_an_unknown_cordon_lists_the_cordoned_places(run):
    """A misspelled name is found at once."""
    cordons = [{'zone': 'a', 'until': '2999-01-01T00:00:00Z'}]

    status, _, err = run(*REMOVE, '--zone', 'b', '--region', 'R1', cordons=cordons)

    assert status == 2
    assert err == (
        'placement-policy cordon remove: Unknown cordon of zone b of region R1; cordoned places: '
        'zone a; correct the option\n'
    )


def test_remove_of_ended_cordons_keeps_the_others(run):
    """The file can be cleaned without naming each place."""
    cordons = [
        {'zone': 'a', 'until': '2000-01-01T00:00:00Z'},
        {'zone': 'b', 'until': '2999-01-01T00:00:00Z'},
    ]

    assert run(*REMOVE, '--ended', cordons=cordons)[1] == 'Removed the cordon of zone a\n'
    assert run(*REMOVE, '--ended')[1] == 'No cordon has ended.\n'
    status, _, err = run(*REMOVE, '--ended', '--zone', 'b')
    assert (status, '--ended excludes --zone and --region' in err) == (2, True)


def test_edit_that_loses_comments_says_so(run):
    """An operator is not surprised by a file without its comments."""
    text = '- {zone: a, until: "2999-01-01T00:00:00Z"}\n# the end\n'

    status, _, err = run(*ADD, '--zone', 'b', '--until', UNTIL, cordons=text)

    assert status == 0
    assert err == (
        'placement-policy cordon add: cordons: comments after the first cordon were not kept\n'
    )


def test_configuration_of_the_workers_names_the_cordon_file(run):
    """The command edits the file that the workers read."""
    named = {'w.conf': '[placement]\ncordon_file = cordons\n', 'cordons': '[]'}

    assert run('cordon', 'list', '--config-file', 'w.conf', **named)[1] == 'No cordons.\n'


def test_configuration_without_a_cordon_file_is_refused(run):
    """The error names the option to set."""
    status, _, err = run('cordon', 'list', '--config-file', 'w.conf', **{'w.conf': '[worker]\n'})

    assert status == 2
    assert 'w.conf: [placement] cordon_file is not set' in err


def test_add_of_a_place_that_the_embedded_cloud_lacks_warns_at_once(run):
    """The cordon is added, because the file of the cloud may change."""
    files = {
        'w.conf': '[placement]\ncordon_file = c.yaml\n'
        '[cloud]\nbackend = inventory\ninventory_file = zones.yaml\n',
        'c.yaml': '[]',
        'zones.yaml': 'zones: {az1: true}',
    }

    until = ('--until', '2999-01-01T00:00Z')
    unknown = run('cordon', 'add', '--config-file', 'w.conf', '--zone', 'azz1', *until, **files)
    known = run('cordon', 'add', '--config-file', 'w.conf', '--zone', 'az1', *until)

    assert (unknown[0], known[0], known[2]) == (0, 0, '')
    assert 'The cordon of zone azz1 has no effect (did you mean az1?)' in unknown[2]
    assert 'zone: azz1' in Path('c.yaml').read_text()


@pytest.mark.parametrize('guide', GUIDES, ids=lambda guide: guide.parent.name)
def test_add_as_a_guide_of_a_deployment_says_closes_the_zone(run, guide):
    """Operators of containers can copy the command of their page."""
    (command,) = re.findall(r'placement-policy (cordon add .*)', guide.read_text(encoding='utf-8'))
    file = Path('cordons.yaml')
    file.write_text('[]\n')

    status, out, _ = run(*shlex.split(re.sub(r'\S+/cordons\.yaml', str(file), command)))

    closed = 'zone az1 is cordoned until 2999-12-01T06:00:00Z (new switches), and evacuated\n'
    assert (status, out) == (0, closed)
    assert file.read_text().startswith('- zone: az1\n')
