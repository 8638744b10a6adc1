"""The outages and flags of a run."""

from placement_worker.simulation.timeline import MOST, Outage, Timeline
from tests.unit.simulation.conftest import record


def timeline(*outages):
    """Return the timeline of a run with the given outages after each step."""
    timeline = Timeline()
    for number, places in enumerate(outages):
        timeline.add(record(number, outages=list(places)))
    return timeline


def test_outage_lasts_from_its_first_to_its_last_step():
    """An outage has the first and the last step after which its place was unavailable."""
    assert timeline('', 'a', 'a', '', '').outages == [Outage('a', 1, 2)]


def test_outages_of_several_places_may_overlap():
    """Each place has outages of its own."""
    assert timeline('a', 'ab', 'b').outages == [Outage('a', 0, 1), Outage('b', 1, 2)]


def test_outage_of_a_place_that_is_lost_again_is_another_one():
    """A place that was available in between has two outages."""
    assert timeline('a', '', 'a').outages == [Outage('a', 0, 0), Outage('a', 2, 2)]


def test_timeline_of_a_long_run_is_bounded_and_counts_all():
    """A long run keeps the first outages and flags, and counts the others."""
    long = Timeline()
    for number in range(1000):
        places = ['a'] if number % 2 else []
        long.add(record(number, outages=places, changes_world=True))

    assert (len(long.outages), long.outage_count) == (MOST, 500)
    assert (len(long.flags), long.flag_count) == (MOST, 1000)
    assert long.flags[1].number == 1


def test_cordon_and_outage_of_one_place_are_periods_of_their_own():
    """A zone that is lost while it is cordoned has both in the legend."""
    run = Timeline()
    run.add(record(0, cordons=['zone a']))
    run.add(record(1, cordons=['zone a'], outages=['zone a']))

    assert run.outages == [Outage('zone a', 0, 1, True), Outage('zone a', 1, 1)]
