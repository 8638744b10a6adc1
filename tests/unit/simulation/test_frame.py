"""The coordinates of a chart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.simulation.frame import TOP, Frame, Scale


def frame(numbers, scale=None):
    return Frame(numbers, scale or Scale([0, 10]), width=100, height=144)


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
    assert Scale.over(lowest, highest, 5).ticks == ticks


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([3, 5]))
def test_scale_over_any_values_contains_them_with_few_ticks(one, other, count):
    """Every value is between the first and the last tick, and there are few ticks."""
    lowest, highest = sorted((round(one, 3), round(other, 3)))

    ticks = Scale.over(lowest, highest, count).ticks

    assert ticks[0] <= min(lowest, 0) + 1e-6
    assert ticks[-1] >= max(highest, 0) - 1e-6
    assert 2 <= len(ticks) <= count + 2


def test_y_of_the_first_and_last_tick_is_at_the_edges():
    """The scale fills the height between the margins."""
    drawn = frame([0, 1], Scale([-5, 0, 5]))

    assert (drawn.y(-5), drawn.y(5)) == (drawn.bottom, TOP)


@pytest.mark.parametrize(
    ('number', 'column'), [(0, 0), (4, 1), (6, 1.5), (8, 2), (9, 3), (10, 4), (11, 4)]
)
def test_column_of_a_step_between_columns_is_between_them(number, column):
    """A step without a column of its own is between its neighbors; the last column ends a run."""
    assert frame([0, 4, 8, 9]).column(number) == column


def test_percent_and_x_describe_the_same_position():
    """Text and paths of a column are at the same position."""
    drawn = frame(range(8))

    assert (drawn.percent(3), drawn.x(3)) == ('37.5%', 37.5)


@pytest.mark.parametrize(('columns', 'between'), [(5, 1), (17, 2), (130, 20), (601, 100)])
def test_columns_between_ticks_leave_at_most_the_asked_ticks(columns, between):
    """A chart of any length has at most the given number of ticks."""
    assert frame(range(columns)).columns_between_ticks(12) == between
