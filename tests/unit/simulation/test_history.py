"""The history of a run in bounded memory."""

import msgspec
import pytest

from placement_worker.simulation.history import MOST_MARKS, POINTS, History, Outage, Timeline
from placement_worker.simulation.measures import Standing
from placement_worker.simulation.run import PlayedStep
from tests.unit.simulation.conftest import record


def filled(steps, explained=0):
    history = History(explained)
    for number in range(steps + 1):
        history.add(PlayedStep(record(number)))
    return history


@pytest.mark.parametrize('steps', [20, 599, 600, 601, 5000, 100_001])
def test_steps_of_a_run_are_evenly_spaced(steps):
    """A short run keeps each step, a long one the first, the last and evenly spaced ones."""
    history = filled(steps)

    numbers = [step.worker.number for step in history.steps]
    assert (numbers[0], numbers[-1]) == (0, steps)
    assert len(numbers) <= POINTS + 1
    assert all(number % history.stride == 0 for number in numbers[:-1])
    assert len(numbers) > min(steps, POINTS // 2)
    assert numbers == sorted(set(numbers))


def test_steps_of_a_long_run_include_the_worst_step():
    """The worst step of a run is drawn even if the steps around it are not."""
    history = History(0)
    for number in range(5001):
        deviation = 7.0 if number == 3333 else 0.0
        history.add(PlayedStep(record(number, standings=[Standing('a', 10, 10 - deviation, True)])))

    numbers = [step.worker.number for step in history.steps]

    assert history.stride == 16
    assert 3333 in numbers
    assert numbers == sorted(set(numbers))


def test_history_keeps_decisions_of_the_first_steps_only():
    """Only the first steps keep their decisions."""
    history = filled(50, explained=3)

    assert [step.worker.number for step in history.explained] == [1, 2, 3]
    assert all(step.worker.checks for step in history.explained)
    assert not any(step.worker.checks for step in history.steps)


def test_totals_include_every_step():
    """The totals include steps that the history drops, and the mean leaves out the start."""
    history = History(0)
    history.add(PlayedStep(record(0, misplaced=2.0), record(0)))
    failed = record(1, status='ERROR', as_expected=False, misplaced=1.0)
    history.add(PlayedStep(record(1, misplaced=3.0), failed))
    history.add(PlayedStep(record(2, misplaced=1.0), record(2)))

    none = dict.fromkeys(('errors', 'unexpected', 'refused', 'updates'), 0)
    sums = {'steps': 2, 'checks': 2, 'created': 4, 'deleted': 2, 'worst': 3.0, 'misplaced': 4.0}
    assert {**none, **sums}.items() <= msgspec.to_builtins(history.worker).items()
    assert (history.worker.mean, history.other.errors, history.other.unexpected) == (2.0, 1, 1)


def test_places_are_unique_and_in_order():
    """Each place is named once, in the order of its first appearance."""
    history = History(0)
    standings = [[Standing(name, 1, None, True) for name in names] for names in ('ba', 'bc', 'd')]
    history.add(PlayedStep(record(0, standings=standings[0]), record(0, standings=standings[1])))
    history.add(PlayedStep(record(1, standings=standings[2])))

    assert history.places == ['b', 'a', 'c', 'd']


@pytest.mark.parametrize(
    ('outages', 'cordons', 'periods'),
    [
        (['', 'a', 'a', '', ''], '', [Outage('a', 1, 2, False)]),
        (['a', 'ab', 'b'], '', [Outage('a', 0, 1, False), Outage('b', 1, 2, False)]),
        (['a', '', 'a'], '', [Outage('a', 0, 0, False), Outage('a', 2, 2, False)]),
        (['', 'a'], 'a', [Outage('a', 0, 1, True), Outage('a', 1, 1, False)]),
    ],
)
def test_outages_of_each_place_have_a_first_and_a_last_step(outages, cordons, periods):
    """Outages and cordons may overlap; a place that was available in between has two of them."""
    timeline = Timeline()
    for number, places in enumerate(outages):
        timeline.add(record(number, outages=list(places), cordons=list(cordons)))

    assert timeline.outages == periods


def test_timeline_of_a_long_run_is_bounded_and_counts_all():
    """A long run keeps the first outages and flags, and counts the others."""
    long = Timeline()
    for number in range(1000):
        places = ['a'] if number % 2 else []
        long.add(record(number, outages=places, changes_world=True))

    assert (len(long.outages), long.outage_count) == (MOST_MARKS, 500)
    assert (len(long.flags), long.flag_count) == (MOST_MARKS, 1000)
    assert long.flags[1].number == 1
