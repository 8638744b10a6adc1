"""The history of a run."""

import msgspec
import pytest

from placement_worker.simulation import history as histories
from placement_worker.simulation.history import History, Moment
from placement_worker.simulation.measures import Standing
from tests.unit.simulation.conftest import record


def filled(steps, explained=0):
    history = History(explained)
    for number in range(steps + 1):
        history.add(Moment(record(number)))
    return history


def test_moments_of_a_short_run_are_complete():
    """A short run keeps each step."""
    history = filled(20)

    assert [moment.worker.number for moment in history.moments] == list(range(21))
    assert history.stride == 1


@pytest.mark.parametrize('steps', [599, 600, 601, 5000, 100_001])
def test_moments_of_a_long_run_are_evenly_spaced(steps):
    """A long run keeps the first, the last and evenly spaced steps in bounded memory."""
    history = filled(steps)

    numbers = [moment.worker.number for moment in history.moments]
    assert (numbers[0], numbers[-1]) == (0, steps)
    assert len(numbers) <= histories.POINTS + 1
    assert all(number % history.stride == 0 for number in numbers[:-1])
    assert len(numbers) > min(steps, histories.POINTS // 2)
    assert numbers == sorted(set(numbers))


def test_moments_of_a_long_run_include_the_worst_step():
    """The worst step of a run is drawn even if the steps around it are not."""
    history = History()
    for number in range(5001):
        deviation = 7.0 if number == 3333 else 0.0
        standings = [Standing('a', 10, 10 - deviation, True)]
        history.add(Moment(record(number, standings=standings, misplaced=deviation)))

    numbers = [moment.worker.number for moment in history.moments]

    assert history.stride == 16
    assert 3333 in numbers
    assert numbers == sorted(set(numbers))


def test_history_keeps_decisions_of_the_first_steps_only():
    """Only the first steps keep their decisions."""
    history = filled(50, explained=3)

    assert [moment.worker.number for moment in history.explained] == [1, 2, 3]
    assert all(moment.worker.checks for moment in history.explained)
    assert not any(moment.worker.checks for moment in history.moments)


def test_totals_include_every_step():
    """The totals include steps that the history does not keep."""
    history = History()
    history.add(Moment(record(0), record(0)))
    history.add(
        Moment(
            record(1, misplaced=3.0), record(1, status='ERROR', as_expected=False, misplaced=1.0)
        )
    )
    history.add(Moment(record(2, misplaced=1.0), record(2)))

    assert msgspec.to_builtins(history.worker) == {
        'steps': 2,
        'checks': 2,
        'errors': 0,
        'unexpected': 0,
        'created': 4,
        'deleted': 2,
        'refused': 0,
        'updates': 0,
        'worst': 3.0,
        'misplaced': 4.0,
    }
    assert (history.worker.mean, history.other.errors, history.other.unexpected) == (2.0, 1, 1)


def test_places_are_unique_and_in_order():
    """Each place is named once, in the order of its first appearance."""
    history = History()
    standings = [[Standing(name, 1, None, True) for name in names] for names in ('ba', 'bc', 'd')]
    history.add(Moment(record(0, standings=standings[0]), record(0, standings=standings[1])))
    history.add(Moment(record(1, standings=standings[2])))

    assert history.places == ['b', 'a', 'c', 'd']
