"""The content of scenarios, and the files that hold them."""

import json

import pytest

from placement_worker import errors
from placement_worker.simulation.run import play
from placement_worker.simulation.scenario import InvalidScenario, shipped_scenarios
from tests.factories import zone_policy
from tests.scenarios import load_scenario

GOOD = {
    'title': 'T',
    'cloud': {'zones': {'a': True}},
    'policies': [zone_policy('a')],
    'steps': [{'scale_out': 1}],
}


def test_unrolled_expands_nested_repetitions(load):
    """Nested repetitions are expanded and counted."""
    inner = {'repeat': 3, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}
    scenario = load([{'resize': 5}, {'repeat': 2, 'steps': [inner, {'scale_out': 2}]}])

    verbs = [step.verb for step in scenario.unrolled()]

    assert verbs == ['resize', *(['scale_out', 'scale_in'] * 3 + ['scale_out']) * 2]
    assert scenario.length == len(verbs)


@pytest.mark.parametrize(
    ('steps', 'message'),
    [
        ([], 'Expected `array` of length >= 1'),
        ([{'scale_up': 1}], 'Unknown key `scale_up` (did you mean `scale_out`?) - at `$.steps[0]`'),
        ([{}], 'Expected one of scale_out, scale_in, '),
        ([{}], 'got none - at `$.steps[0]`'),
        ([{'scale_out': 1, 'scale_in': 1}], 'got scale_out and scale_in - at `$.steps[0]`'),
        ([{'scale_out': -1}], 'Expected `int` >= 0, got `-1` - at `$.steps[0].scale_out`'),
        ([{'scale_out': 'x'}], 'Expected `int | null`, got `str` - at `$.steps[0].scale_out`'),
        ([{'fail_nodes': '5 percent'}], 'at `$.steps[0].fail_nodes`'),
        ([{'fail_nodes': '101%'}], 'at `$.steps[0].fail_nodes`'),
        ([{'repeat': 2}], 'Expected `repeat` and `steps` together, got'),
        ([{'repeat': 2, 'steps': [{'x': 1}]}], 'Unknown key `x`, expected one of'),
        ([{'lose_zone': 'z'}, {'restore_zone': 'R/a'}],
         'unknown places: The cloud does not know zone "z"; it has "a" (line 1, column 253) and 1 '
         'more error'),
        ([{'lose_region': 'R'}], 'unknown places: The cloud does not know region "R"; it has none'),
        ([{'repeat': 1, 'steps': [{'weights': {'z': 1}}]}],
         'unknown places: No policy lists place "z"'),
        ([{'cordon': {'zone': 'z', 'minutes': 1}}, {'uncordon': {'region': 'R'}}],
         'The cloud does not know zone "z"; it has "a" (line 1, column 259) and 1 more error'),
    ],
)  # fmt: skip
def test_load_with_a_wrong_step_names_its_path_or_position(load, steps, message):
    """An error in a step is reported with its path, and an unknown place with its position."""
    with pytest.raises(InvalidScenario) as raised:
        load(steps, [zone_policy('a')], title='T', cloud=GOOD['cloud'])

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'titel': 'x'}, 'Unknown key `titel` (did you mean `title`?) - at `$`'),
        ({'start': '2026-11-23T09:00:00'}, 'Expected an ISO 8601 time'),
        ({'cloud': {'zone': 1}}, 'does not describe a cloud: Object contains unknown field `zone`'),
        (
            {'cloud': {'zones': {'a': True}, 'regions': ['R']}},
            'unknown places: The cloud does not know zone "R/a"; it has "a" (line 1, column ',
        ),
        ({'policies': [{'id': 'x'}]}, 'Object missing required field `spec` - at `$.policies[0]`'),
    ],
)
def test_load_with_a_wrong_field_names_its_path(load, change, message):
    """An error outside of the steps is reported as well."""
    with pytest.raises((InvalidScenario, errors.InvalidInventory)) as raised:
        load(**{**GOOD, 'steps': [{'lose_zone': 'R/a'}], **change})

    assert message in str(raised.value)


def test_load_with_misspelled_places_gives_the_position_of_each(load):
    """Each unknown place of a step has its position and a similar name."""
    steps = [
        {'repeat': 2, 'steps': [{'weights': {'zoen-a': 1}}]},
        {'cordon': {'zone': 'zoen-a', 'minutes': 1}},
    ]

    with pytest.raises(InvalidScenario) as raised:
        load(steps, [zone_policy('zone-a')], title='T', cloud={'zones': {'zone-a': True}})

    assert [(one.text, one.position.column) for one in raised.value.__cause__.problems] == [
        ('No policy lists place "zoen-a" (did you mean "zone-a"?)', 286),
        ('The cloud does not know zone "zoen-a" (did you mean "zone-a"?); it has "zone-a"', 323),
    ]


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('none', 'none: no such file; name a file or a shipped scenario: capped-regions, '),
        ('zone-outge', 'zone-outge: no such file (did you mean "zone-outage"?); name'),
        ('f.yaml', 'f.yaml contains 2 documents'),
    ],
)
def test_load_of_no_single_scenario_says_what_there_is(name, message, tmp_path, monkeypatch):
    """An unknown name is reported with the shipped scenarios; a file has exactly one document."""
    (tmp_path / 'f.yaml').write_text(f'{json.dumps(GOOD)}\n---\n{json.dumps(GOOD)}\n')
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InvalidScenario) as raised:
        load_scenario(name)

    assert str(raised.value).startswith(message)


@pytest.mark.parametrize('name', shipped_scenarios())
def test_shipped_scenarios_end_as_they_expect(name, registry):
    """Each step of the shipped scenarios ends as it expects."""
    records = list(play(load_scenario(name), registry, explained=0))

    assert all(record.as_expected for record in records)
