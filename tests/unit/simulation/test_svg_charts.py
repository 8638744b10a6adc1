"""The panels of charts as SVG elements."""

import re
from xml.etree import ElementTree

import pytest

from placement_worker.simulation.frame import Scale
from placement_worker.simulation.svg_charts import Panel, Series, Steps, draw
from placement_worker.simulation.timeline import MOST, Timeline
from tests.unit.simulation.conftest import record


def drawn(columns=4, timeline=None, **fields):
    """Return a panel as an element; by default it has neither columns nor lines."""
    panel = {'title': 'T', 'described': 'D', 'scale': Scale([0, 5, 10]), 'height': 144, **fields}
    axis = Steps(range(columns), timeline or Timeline())
    return ElementTree.fromstring(draw(Panel('id', **panel), axis, 100))  # noqa: S314


def classes(element, name):
    return [one for one in element.iter() if name in one.get('class', '').split()]


def flagged(*numbers):
    """Return a timeline with flags at these steps."""
    timeline = Timeline()
    for number in numbers:
        timeline.add(record(number, changes_world=True))
    return timeline


def test_draw_has_a_path_per_series_and_escapes_its_title():
    """Each series is one path, and title and description are text."""
    areas = [Series('a', [1, 0, 2, 3], 'c1'), Series('b', [1, 1, 1, 1], 'c2')]
    lines = [Series('x', [1, 2, 2, 3], 'l1')]

    panel = drawn(title='<T>', described='<D>', areas=areas, lines=lines)

    assert [one.get('class') for one in panel.iter('path')] == ['fill c1', 'fill c2', 'line l1']
    assert [panel.find(tag).text for tag in ('title', 'desc')] == ['<T>', '<D>.']


def test_draw_stacks_columns_and_omits_empty_ones():
    """A column stands on the columns before it, and an empty one is not drawn."""
    areas = [Series('a', [5, 0], 'c1'), Series('b', [5, 5], 'c2')]

    lower, upper = drawn(columns=2, areas=areas).iter('path')

    assert lower.get('d') == 'M6.0 120.0V70.0H44.0V120.0Z'
    assert upper.get('d') == 'M6.0 70.0V20.0H44.0V70.0ZM56.0 120.0V70.0H94.0V120.0Z'


def test_draw_of_a_line_has_a_corner_per_change_of_value():
    """A line has a step where its value changes, and ends at the right edge."""
    (line,) = drawn(lines=[Series('a', [0, 5, 5, 10], 'l1')]).iter('path')

    assert line.get('d') == 'M0 120.0H25.0V70.0H75.0V20.0H100'


def test_draw_of_negative_values_has_its_zero_line_inside():
    """The zero line of a scale with negative values is above the lower edge."""
    panel = drawn(scale=Scale([-5, 0, 5]))

    (zero,) = classes(panel, 'zero')
    assert zero.get('y1') == zero.get('y2') == '70.0'


def test_draw_shades_an_outage_from_its_first_to_its_last_step():
    """The shading begins with the first column of an outage and ends with the last one."""
    timeline = Timeline()
    for number, places in enumerate(['', 'a', 'a', '']):
        timeline.add(record(number, outages=list(places)))

    (outage,) = classes(drawn(timeline=timeline), 'outage')

    assert (outage.get('x'), outage.get('width')) == ('25%', '50%')


def test_draw_flags_steps_and_numbers_those_with_room():
    """Each flagged step has a flag; its number is omitted if the next flag is too close."""
    panel = drawn(columns=40, timeline=flagged(5, 6, 20))

    texts = classes(panel, 'flag'), [one.text for one in classes(panel, 'spacious')]
    assert (len(texts[0]), texts[1]) == (3, ['6', '20', 'step'])


def test_draw_flags_close_steps_with_numbers_for_wide_charts_only():
    """Numbers of flags that overlap in a narrow chart are of the class that it hides."""
    panel = drawn(columns=16, timeline=flagged(5, 6, 10))

    assert [one.text for one in classes(panel, 'spacious')] == ['6', '10', 'step']
    assert '5' in [one.text for one in classes(panel, 'fine')]


def test_draw_with_too_many_flags_omits_all():
    """More flags than a chart can show are omitted."""
    assert classes(drawn(columns=601, timeline=flagged(*range(MOST + 1))), 'flag') == []


def test_draw_puts_a_cross_above_the_column_of_a_failed_check():
    """A cross is above the column of a failed check."""
    panel = drawn(areas=[Series('a', [1, 5, 5, 5], 'c1')], crosses=[1])

    (holder,) = [one for one in panel.iter('svg') if classes(one, 'cross') and one is not panel]
    assert (holder.get('x'), holder.get('y')) == ('37.5%', '61.0')


@pytest.mark.parametrize(
    ('ticks', 'texts'),
    [([0, 5000], ['0', '5000']), ([0, 20_000], ['0', '20k']), ([0, 2_500_000], ['0', '2.5M'])],
)
def test_draw_of_large_values_shortens_their_ticks(ticks, texts):
    """The text of a tick fits into the margin."""
    labels = [one.text for one in classes(drawn(scale=Scale(ticks)), 'tick')]

    assert labels[:2] == texts


@pytest.mark.parametrize('columns', [1, 17, 81, 130, 601])
def test_draw_of_any_length_has_few_numbers_for_narrow_charts(columns):
    """A narrow chart shows two to six numbers of steps, and a wide one at most twelve."""
    panel = draw(Panel('id', 'T', 'D', Scale([0, 1]), 144), Steps(range(columns), Timeline()), 9)

    numbers = re.findall(r'class="tick( fine)?"[^>]*"middle"', panel)
    assert len(numbers) <= 12
    assert min(columns, 2) <= numbers.count('') <= 6
