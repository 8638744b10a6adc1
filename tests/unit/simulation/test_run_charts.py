"""The charts of long and wide runs; the pictures of the manual show those of short ones."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.simulation.history import Timeline
from placement_worker.simulation.report import Frame, svg_of
from placement_worker.simulation.run_charts import FLAGS_NAMED, Panel, charts, ticks_over
from tests.factories import deletion_policy, zone_policy
from tests.unit.simulation.conftest import played, record


def wide(load, count, steps):
    names = [f'z{number}' for number in range(count)]
    return load(steps, [zone_policy(*names)], cloud={'zones': dict.fromkeys(names, True)})


def shading(chart):
    return [text for look, text in chart.legend if look == 'outage']


def test_charts_without_a_placement_policy_show_only_the_nodes(load, registry):
    """Without ideals there is no chart of deviations."""
    history = played(load([{'scale_out': 3}], [deletion_policy()]), registry, compared=False)

    assert [chart.heading for chart in charts(history)] == ['Nodes by place']


def test_legend_names_outages_and_cordons_of_one_run(load, registry):
    """A run with both has a line for each in the legend."""
    steps = [{'lose_zone': 'a'}, {'cordon': {'zone': 'b', 'minutes': 5}}, {'restore_zone': 'a'}]
    turn = [{'lose_zone': 'a'}, {'restore_zone': 'a'}]

    history = played(load([*steps, {'repeat': 3, 'steps': turn}]), registry, compared=False)

    assert shading(charts(history)[0]) == [
        'outage: a (steps 1 to 2), a (step 4)',
        'cordon: zone b (steps 2 to 6) and 2 more',
    ]


def test_legend_of_many_outages_and_flags_counts_the_rest(load, registry):
    """A legend names the first outages and flags, and the number of the others."""
    turn = [{'lose_zone': 'a'}, {'restore_zone': 'a'}]

    def legend(turns):
        scenario = load([{'scale_out': 3}, {'repeat': turns, 'steps': turn}])
        return charts(played(scenario, registry, compared=False))[0].legend[3:]

    shading, *flags = legend(15)
    assert shading[1] == 'outage: a (step 2), a (step 4), a (step 6) and 12 more'
    assert (flags[0], flags[-1]) == (('flag', 'step 2: zone a is lost'), ('flag', 'and 10 more'))
    assert len(flags) == FLAGS_NAMED + 1
    assert legend(50)[1:] == [('', 'not flagged: 100 changes of the cloud or a policy')]


def test_deviations_of_many_places_show_those_that_deviate_most(load, registry):
    """Of many places those with the greatest deviation have a panel, and the text says so."""
    scenario = wide(load, 20, [{'scale_out': 40}, {'lose_zone': 'z19'}])

    chart = charts(played(scenario, registry, compared=False))[-1]

    assert (len(chart.panels), chart.panels[-1].title) == (12, 'z19')
    assert chart.about.endswith('These 12 of 20 places deviate most.')


@pytest.mark.parametrize(('count', 'others'), [(8, None), (9, 2), (12, 5)])
def test_more_places_than_colors_share_the_last_one(load, registry, count, others):
    """There are at most eight colors, and no place is lost."""
    scenario = wide(load, count, [{'scale_out': count}])

    areas = charts(played(scenario, registry, compared=False))[0].panels[0].areas

    assert len(areas) == 8
    assert sum(area.values[-1] for area in areas) == count
    assert others is None or (areas[-1].name, areas[-1].values[-1]) == ('others', others)


# Coordinates


def frame(numbers):
    return Frame(numbers, [0, 10], width=100, height=144)


@pytest.mark.parametrize(
    ('lowest', 'highest', 'ticks'),
    [
        (0, 0, [0, 1]),
        (0, 12, [0, 5, 10, 15]),
        (0, 1000, [0, 200, 400, 600, 800, 1000]),
        (0, 120, [0, 25, 50, 75, 100, 125]),
        (-12, 9, [-15, -10, -5, 0, 5, 10]),
        (0, 0.7, [0, 0.2, 0.4, 0.6, 0.8]),
        (-3, -1, [-3, -2, -1, 0]),
    ],
)
def test_scale_over_values_has_round_ticks_around_them(lowest, highest, ticks):
    """The ticks are round numbers, begin below all values and end above them."""
    assert ticks_over(lowest, highest, 5) == ticks


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([3, 5]))
def test_scale_over_any_values_contains_them_with_few_ticks(one, other, count):
    """Every value is between the first and the last tick, and there are few ticks."""
    lowest, highest = sorted((round(one, 3), round(other, 3)))

    ticks = ticks_over(lowest, highest, count)

    assert ticks[0] <= min(lowest, 0) + 1e-6
    assert ticks[-1] >= max(highest, 0) - 1e-6
    assert 2 <= len(ticks) <= count + 2


@pytest.mark.parametrize(
    ('number', 'column'), [(0, 0), (4, 1), (6, 1.5), (8, 2), (9, 3), (10, 4), (11, 4)]
)
def test_column_of_a_step_between_columns_is_between_them(number, column):
    """A step without a column of its own is between its neighbors; the last column ends a run."""
    assert frame([0, 4, 8, 9]).column(number) == column


# The drawing


def drawn(columns=4, timeline=None, **fields):
    """Return a panel as an element; by default it has neither columns nor lines."""
    panel = {'title': 'T', 'described': 'D', 'ticks': [0, 5, 10], **fields}
    history = SimpleNamespace(numbers=range(columns), timeline=timeline or Timeline())
    return ElementTree.fromstring(svg_of(Panel('id', **panel), history, 100))  # noqa: S314


def classes(element, name):
    return [one for one in element.iter() if name in one.get('class', '').split()]


def flagged(*numbers):
    timeline = Timeline()
    for number in numbers:
        timeline.add(record(number, changes_world=True))
    return timeline


@pytest.mark.parametrize(
    ('columns', 'flags', 'spacious', 'fine'),
    [(40, (5, 6, 20), ['6', '20', 'step'], ''), (16, (5, 6, 10), ['6', '10', 'step'], '5')],
)
def test_svg_flags_steps_and_numbers_those_with_room(columns, flags, spacious, fine):
    """A number is omitted if the next flag is too close, or hidden in a narrow chart."""
    panel = drawn(columns=columns, timeline=flagged(*flags))

    assert len(classes(panel, 'flag')) == 3
    assert [one.text for one in classes(panel, 'spacious')] == spacious
    assert not fine or fine in [one.text for one in classes(panel, 'fine')]


@pytest.mark.parametrize(('flags', 'drawn_flags'), [(80, 80), (81, 0)])
def test_svg_with_too_many_flags_omits_all(flags, drawn_flags):
    """More flags than a chart can show are omitted."""
    panel = drawn(columns=601, timeline=flagged(*range(flags)))

    assert len(classes(panel, 'flag')) == drawn_flags


@pytest.mark.parametrize(
    ('ticks', 'texts'),
    [([0, 5000], ['0', '5000']), ([0, 20_000], ['0', '20k']), ([0, 2_500_000], ['0', '2.5M'])],
)
def test_svg_of_large_values_shortens_their_ticks(ticks, texts):
    """The text of a tick fits into the margin."""
    assert [one.text for one in classes(drawn(ticks=ticks), 'tick')][:2] == texts


@pytest.mark.parametrize('columns', [1, 17, 81, 130, 601])
def test_svg_of_any_length_has_few_numbers_for_narrow_charts(columns):
    """A narrow chart shows two to six numbers of steps, and a wide one at most twelve."""
    panel = ElementTree.tostring(drawn(columns), encoding='unicode')

    numbers = re.findall(r'class="tick( fine)?"[^>]*"middle"', panel)
    assert len(numbers) <= 12
    assert min(columns, 2) <= numbers.count('') <= 6
