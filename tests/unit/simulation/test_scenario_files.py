"""Scenario files."""

import json

import pytest

from placement_worker import errors
from placement_worker.formats import documents
from placement_worker.simulation import scenario_files
from placement_worker.simulation.run import play
from placement_worker.simulation.scenario import InvalidScenario
from tests.factories import zone_policy

GOOD = {
    'title': 'T',
    'cloud': {'zones': {'a': True}},
    'policies': [zone_policy('a')],
    'steps': [{'scale_out': 1}],
}


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'titel': 'x'}, 'Unknown key `titel` (did you mean `title`?) - at `$`'),
        ({'steps': []}, 'Expected `array` of length >= 1'),
        (
            {'steps': [{'scale_up': 1}]},
            'Unknown key `scale_up` (did you mean `scale_out`?) - at `$.steps[0]`',
        ),
        ({'steps': [{}]}, 'got none - at `$.steps[0]`'),
        (
            {'steps': [{'scale_out': 1, 'scale_in': 1}]},
            'got scale_out and scale_in - at `$.steps[0]`',
        ),
        (
            {'steps': [{'scale_out': -1}]},
            'Expected `int` >= 0, got `-1` - at `$.steps[0].scale_out`',
        ),
        (
            {'steps': [{'scale_out': 'x'}]},
            'Expected `int | null`, got `str` - at `$.steps[0].scale_out`',
        ),
        ({'steps': [{'fail_nodes': '5 percent'}]}, 'at `$.steps[0].fail_nodes`'),
        ({'steps': [{'fail_nodes': '101%'}]}, 'at `$.steps[0].fail_nodes`'),
        ({'steps': [{'repeat': 2}]}, 'Expected `repeat` and `steps` together, got'),
        ({'steps': [{'repeat': 2, 'steps': [{'x': 1}]}]}, 'Unknown key `x`, expected one of'),
        (
            {'steps': [{'lose_zone': 'z'}, {'restore_zone': 'R/a'}]},
            'unknown places: The cloud does not know zone "z"; it has "a" (line 1, column '
            '253) and 1 more error',
        ),
        (
            {'steps': [{'lose_region': 'R'}]},
            'unknown places: The cloud does not know region "R"; it has none',
        ),
        (
            {'cloud': {'zones': {'a': True}, 'regions': ['R']}, 'steps': [{'lose_zone': 'R/a'}]},
            'unknown places: Region R has no zones of its own; name zone a, or add zones to the '
            'region (line 1, column ',
        ),
        (
            {
                'cloud': {'zones': {'a': True}, 'regions': {'R': {}}},
                'steps': [{'restore_zone': 'R/a'}],
            },
            'unknown places: Region R has no zones of its own; name zone a, or add zones to the '
            'region (line 1, column ',
        ),
        (
            {'steps': [{'repeat': 1, 'steps': [{'weights': {'z': 1}}]}]},
            'unknown places: No policy lists place "z"',
        ),
        ({'cloud': {'zone': 1}}, 'does not describe a cloud: Object contains unknown field `zone`'),
        ({'policies': [{'id': 'x'}]}, 'Object missing required field `spec` - at `$.policies[0]`'),
    ],
)
def test_load_with_an_error_names_its_path(tmp_path, change, message):
    """An error in a scenario is reported with its path."""
    file = tmp_path / 'f.json'
    file.write_text(json.dumps({**GOOD, **change}))

    with pytest.raises((InvalidScenario, errors.InvalidInventory)) as raised:
        scenario_files.load(str(file))

    assert message in str(raised.value)


def test_load_of_an_unknown_name_lists_the_shipped_scenarios():
    """An unknown name is reported with the names of the shipped scenarios."""
    with pytest.raises(
        InvalidScenario,
        match='none: no such file; name a file or a shipped scenario: capped-regions, ',
    ):
        scenario_files.load('none')


def test_load_of_a_misspelled_name_suggests_the_shipped_scenario():
    """A misspelled name is reported with the name that is probably meant."""
    with pytest.raises(
        InvalidScenario, match=r'zone-outge: no such file \(did you mean "zone-outage"\?\); name'
    ):
        scenario_files.load('zone-outge')


def test_load_of_several_documents_is_refused(tmp_path):
    """A scenario file contains exactly one document."""
    file = tmp_path / 'f.yaml'
    file.write_text(f'{json.dumps(GOOD)}\n---\n{json.dumps(GOOD)}\n')

    with pytest.raises(InvalidScenario, match='contains 2 documents'):
        scenario_files.load(str(file))


def test_load_of_malformed_text_is_refused(tmp_path):
    """A scenario file is YAML or JSON."""
    (tmp_path / 'f').write_text('a: [')

    with pytest.raises(documents.Malformed):
        scenario_files.load(str(tmp_path / 'f'))


@pytest.mark.parametrize('name', sorted(scenario_files.shipped()))
def test_shipped_scenarios_end_as_they_expect(name, registry):
    """Each step of the shipped scenarios ends as it expects."""
    records = list(play(scenario_files.load(name), registry))

    assert all(record.as_expected for record in records)


def test_shipped_lists_six_scenarios():
    """The package contains six scenarios."""
    names = [
        'capped-regions',
        'growing-weights',
        'load-balancer',
        'zone-cordon',
        'zone-outage',
        'zone-shortage',
    ]
    assert list(scenario_files.shipped()) == names


def test_load_with_misspelled_places_gives_the_position_of_each(tmp_path):
    """Each unknown place of a step has its position and a similar name."""
    file = tmp_path / 'f.json'
    steps = [
        {'lose_zone': 'zone-x'},
        {'repeat': 2, 'steps': [{'weights': {'zoen-a': 1}}]},
    ]
    cloud = {'zones': {'zone-a': True, 'zone-b': True}}
    changed = {'cloud': cloud, 'policies': [zone_policy('zone-a')], 'steps': steps}
    file.write_text(json.dumps({**GOOD, **changed}, indent=1))

    with pytest.raises(InvalidScenario) as raised:
        scenario_files.load(str(file))

    lines = file.read_text().splitlines()
    shown = {
        lines[problem.position.line - 1].strip(): problem.text
        for problem in raised.value.__cause__.problems
    }
    assert shown == {
        '"lose_zone": "zone-x"': 'The cloud does not know zone "zone-x"; it has "zone-a", "zone-b"',
        '"zoen-a": 1': 'No policy lists place "zoen-a" (did you mean "zone-a"?)',
    }


def test_load_with_a_cordon_of_an_unknown_place_gives_its_position(tmp_path):
    """Each unknown place of a cordon has its position and a similar name."""
    file = tmp_path / 'f.json'
    steps = [
        {'cordon': {'zone': 'zoen-a', 'minutes': 1}},
        {'uncordon': {'region': 'R'}},
    ]
    cloud = {'zones': {'zone-a': True}, 'regions': ['R1']}
    changed = {'title': 't', 'cloud': cloud, 'policies': [zone_policy('zone-a')], 'steps': steps}
    file.write_text(json.dumps(changed))

    with pytest.raises(InvalidScenario) as raised:
        scenario_files.load(str(file))

    assert 'does not know zone "zoen-a" (did you mean "zone-a"?)' in str(raised.value)
    assert 'and 1 more error' in str(raised.value)
