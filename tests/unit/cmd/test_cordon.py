"""The commands that list and edit cordons."""

import datetime
import json
import re
import shlex
from pathlib import Path

import pytest

from placement_worker.cordons import cordon_file

ADD = ('cordon', 'add', '--cordon-file', 'cordons')
REMOVE = ('cordon', 'remove', '--cordon-file', 'cordons')
LIST = ('cordon', 'list', '--cordon-file', 'cordons')
UNTIL = '2999-12-01T06:00Z'
PLACE = ('--zone', 'a', '--until', UNTIL)
ENDED, LASTING = {'until': '2000-01-01T00:00:00Z'}, {'until': '2999-01-01T00:00:00Z'}
GUIDES = sorted((Path(__file__).parents[3] / 'deploy').glob('*/README.rst'))


def test_add_closes_a_place_and_list_shows_it(run):
    """An added cordon is listed with its end, its state and its reason."""
    arguments = ('--zone', 'az1', '--until', UNTIL, '--reason', 'new switches')

    added = run(*ADD, *arguments)
    assert added == (0, 'zone az1 is cordoned until 2999-12-01T06:00:00Z (new switches)\n', '')
    run(*ADD, '--region', 'R2', '--evacuate', '--until', '2999-12-24T18:00+01:00')
    status, out, _ = run(*LIST)

    assert status == 0
    assert [line for line in out.splitlines() if not line.startswith('+')] == [
        '| place     | until                     | state     | reason       |',
        '| zone az1  | 2999-12-01T06:00:00Z      | closed    | new switches |',
        '| region R2 | 2999-12-24T18:00:00+01:00 | evacuated |              |',
    ]


def test_add_of_a_cordoned_place_needs_replace(run):
    """A cordon is not shortened or prolonged by accident; one that has ended is replaced."""
    run(*ADD, *PLACE, '--reason', 'fire', cordons=[{'zone': 'a', **ENDED}])

    status, _, err = run(*ADD, '--zone', 'a', '--until', '2999-12-02T06:00Z')

    assert status == 2
    assert err == (
        'placement-policy cordon add: zone a is cordoned until 2999-12-01T06:00:00Z (fire); use '
        '--replace to replace this cordon with a new one; correct the option\n'
    )
    replaced = run(*ADD, '--zone', 'a', '--until', '2999-12-02T06:00Z', '--replace')
    assert (replaced[0], replaced[2]) == (0, '')
    _, out, _ = run(*LIST, '-f', 'json')
    assert [one['until'] for one in json.loads(out)] == ['2999-12-02T06:00:00Z']


def test_add_with_replace_says_that_there_was_nothing_to_replace(run):
    """A misspelled place would leave the old cordon to end at its old time."""
    cordons = [{'zone': 'az1', 'until': '2999-12-01T06:00:00Z'}]

    ended = run(*ADD, '--zone', 'a1', '--until', '2999-12-02T06:00Z', '--replace', cordons=cordons)

    note = 'placement-policy cordon add: No cordon of zone a1 to replace; added a new one\n'
    assert (ended[0], ended[2]) == (0, note)
    assert [one.zone for one in cordon_file.read('cordons')] == ['az1', 'a1']


@pytest.mark.parametrize(('text', 'hours'), [('90m', 1.5), ('10h', 10), ('2d', 48)])
def test_end_after_a_duration_is_a_time_from_now(run, text, hours):
    """An operator at night need not compute a time with its offset."""
    began = datetime.datetime.now(datetime.UTC).replace(microsecond=0)

    run(*ADD, '--zone', 'a', '--for', text, cordons='[]')

    passed = datetime.timedelta(hours=hours)
    end = cordon_file.read('cordons')[0].until
    assert began + passed <= end <= datetime.datetime.now(datetime.UTC) + passed


def test_remove_opens_the_place_alone(run):
    """Only the cordon of exactly this zone and region is removed; a misspelled name is an error."""
    cordons = [{'zone': 'a', **LASTING}, {'zone': 'a', 'region': 'R1', **LASTING}]

    removed = run(*REMOVE, '--zone', 'a', cordons=cordons)
    assert removed == (0, 'Removed the cordon of zone a\n', '')
    assert [one['region'] for one in json.loads(run(*LIST, '-f', 'json')[1])] == ['R1']
    assert run(*REMOVE, '--zone', 'b', '--region', 'R1') == (
        2,
        '',
        'placement-policy cordon remove: Unknown cordon of zone b of region R1; cordoned places: '
        'zone a of region R1; correct the option\n',
    )


def test_remove_of_ended_cordons_keeps_the_others(run):
    """The file can be cleaned without naming each place."""
    cordons = [{'zone': 'a', **ENDED}, {'zone': 'b', **LASTING}]

    assert run(*REMOVE, '--ended', cordons=cordons)[1] == 'Removed the cordon of zone a\n'
    assert run(*REMOVE, '--ended')[1] == 'No cordon has ended.\n'
    assert '| zone b ' in run(*LIST)[1]


def test_configuration_of_the_workers_names_the_cordon_file(run):
    """The command edits the file that the workers read, and notes the comments that it loses."""
    text = '- {zone: a, until: "2999-01-01T00:00:00Z"}\n# the end\n'
    named = {'w.conf': '[placement]\ncordon_file = cordons\n', 'cordons': text}
    configured = ('--config-file', 'w.conf')

    status, _, err = run('cordon', 'add', *configured, '--zone', 'b', '--until', UNTIL, **named)

    lost = 'cordon add: cordons: comments after the first cordon were not kept\n'
    assert (status, err) == (0, f'placement-policy {lost}')


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
