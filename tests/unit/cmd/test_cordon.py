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
    assert run(*ADD, '--zone', 'a', '--until', '2999-12-02T06:00Z', '--replace')[0] == 0
    _, out, _ = run(*LIST, '-f', 'json')
    assert [one['until'] for one in json.loads(out)] == ['2999-12-02T06:00:00Z']


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


REGIONS = {'regions': {'R1': {'zones': {'az1': True}}, 'R2': {'zones': {'az2': True}}}}


@pytest.mark.parametrize(
    ('cloud', 'place', 'note'),
    [
        ({'zones': {'az1': False}}, ('--zone', 'az1'), ''),
        (REGIONS, ('--zone', 'az2'), ''),
        (REGIONS, ('--zone', 'az2', '--region', 'R2'), ''),
        (REGIONS, ('--region', 'R1'), ''),
        ('- no cloud', ('--zone', 'az9'), ''),
        (None, ('--zone', 'az9'), ''),
        (
            {'zones': {'az1': True, 'az2': True}},
            ('--zone', 'azz1'),
            'zone azz1 has no effect (did you mean az1?); the zones are az1, az2',
        ),
        (
            REGIONS,
            ('--zone', 'az2', '--region', 'R1'),
            'zone az2 of region R1 has no effect (did you mean az1?); the zones are az1',
        ),
        (REGIONS, ('--region', 'north'), 'region north has no effect; the regions are R1, R2'),
    ],
)
def test_add_of_a_place_that_the_embedded_cloud_certainly_lacks_is_noted(run, cloud, place, note):
    """A misspelled place is visible when the cordon is added, which the cloud may have later."""
    backend = '[cloud]\nbackend = inventory\ninventory_file = zones\n' if cloud else ''
    conf = f'[placement]\ncordon_file = cordons\n{backend}'
    files = {'w.conf': conf, 'cordons': '[]', 'zones': cloud or ''}

    status, _, err = run(
        'cordon', 'add', '--config-file', 'w.conf', '--until', UNTIL, *place, **files
    )

    described = note.replace(' are ', ' of [cloud] inventory_file are ')
    noted = f'placement-policy cordon add: The cordon of {described}\n'
    assert (status, err) == (0, noted if note else '')
    assert place[1] in Path('cordons').read_text()


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
