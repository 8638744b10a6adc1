"""The turns that threads take in tests: in the order that is told, and time passes for all of them
at once.
"""

import pytest

from tests.deterministic_threads import Turns


def test_threads_go_on_as_they_are_told_and_time_passes_when_all_sleep():
    told = iter([1, 0, 0, 0, 0, 0])
    turns = Turns(lambda count: next(told) % count)
    began, seen = turns(), []

    def job(name, *naps):
        for nap in naps:
            seen.append((name, turns() - began))
            turns.sleep(nap)
        return name

    assert turns.run(lambda: job('a', 1, 2), lambda: job('b', 0, 5)) == ['a', 'b']
    assert seen == [('b', 0), ('a', 0), ('b', 0), ('a', 1)]
    assert turns() - began == 5


def test_what_goes_wrong_in_a_thread_is_told_when_the_others_have_ended():
    turns, seen = Turns(lambda count: 0), []

    def fail():
        raise ValueError('so')

    with pytest.raises(ValueError, match='so'):
        turns.run(fail, lambda: seen.append(turns.sleep(3)))
    assert seen
