"""The charts as SVG elements."""

import re

import pytest

from placement_worker.simulation import scenario_files, svg_charts
from tests.unit.simulation.conftest import played


@pytest.fixture
def moments(registry):
    """Return the moments of a run in which a check fails and the cloud changes."""
    return played(scenario_files.load('capped-regions'), registry).moments


def nodes_chart(moments):
    names = [one.name for one in moments[0].ours.standings]
    return svg_charts.nodes_by_place('id', '<T>', moments, names, lambda moment: moment.ours)


def test_nodes_by_place_has_a_path_per_place_and_escapes_its_title(moments):
    """Each place is one path, and the title is text."""
    drawn = nodes_chart(moments)

    places = len(moments[0].ours.standings)
    assert len(re.findall(r'<path class="fill edged c\d"', drawn)) == places
    assert '<title id="id-title">&lt;T&gt;</title>' in drawn


def test_nodes_by_place_marks_failed_checks_and_changes_of_the_world(moments):
    """A cross marks each failed check, and a flag each change of the cloud or a policy."""
    drawn = nodes_chart(moments)

    failed = sum(moment.ours.status == 'ERROR' for moment in moments)
    changed = sum(moment.ours.changes_world for moment in moments)
    assert drawn.count('class="cross"') == failed > 0
    assert drawn.count('class="flag"') == changed > 0


def test_lines_with_negative_values_extend_below_zero(moments):
    """A chart with negative values has its zero line inside."""
    lines = [svg_charts.Line('a', lambda moment: -1.0 if moment.ours.number else 1.0, 1)]

    drawn = svg_charts.lines('id', 'T', moments, lines)

    (zero,) = re.findall(r'class="zero".*?y1="([\d.]+)"', drawn)
    assert svg_charts.TOP < float(zero) < svg_charts.HEIGHT - svg_charts.BOTTOM


@pytest.mark.parametrize(('count', 'groups'), [(8, 8), (9, 8), (20, 8)])
def test_grouped_with_more_names_than_colors_joins_the_rest(count, groups):
    """There are at most eight colors, and no place is lost."""
    names = [str(number) for number in range(count)]

    grouped = svg_charts.grouped(names)

    assert len(grouped) == groups
    assert [name for members in grouped.values() for name in members] == names
