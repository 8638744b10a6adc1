"""The threads of tests that run in a chosen order."""

from tests.deterministic_threads import ThreadScheduler


def test_threads_run_in_the_chosen_order_and_time_passes_when_all_sleep():
    """A test can repeat any interleaving of its threads."""
    order = iter([1, 0, 0, 0, 0, 0])
    turns = ThreadScheduler(lambda count: next(order) % count)
    began, seen = turns(), []

    def job(name, *naps):
        for nap in naps:
            seen.append((name, turns() - began))
            turns.sleep(nap)
        return name

    assert turns.run(lambda: job('a', 1, 2), lambda: job('b', 0, 5)) == ['a', 'b']
    assert seen == [('b', 0), ('a', 0), ('b', 0), ('a', 1)]
    assert turns() - began == 5
