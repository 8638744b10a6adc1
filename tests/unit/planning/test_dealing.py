"""The order of creation: every prefix as even as integers allow."""

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.dealing import deal


@given(st.dictionaries(st.text('abcdefgh', min_size=1, max_size=2), st.integers(0, 30), max_size=8))
def test_in_no_prefix_is_a_place_a_whole_node_ahead_of_its_share(counts):
    dealt = deal(counts)

    total = sum(counts.values())
    assert {place: dealt.count(place) for place in counts} == counts
    for place, count in counts.items():
        for length in range(1, total + 1):
            assert dealt[:length].count(place) * total - length * count < total


def test_a_large_place_does_not_run_ahead_of_many_small_ones():
    assert deal({'big': 3, 'x': 1, 'y': 1, 'z': 1}) == ['big', 'x', 'big', 'y', 'big', 'z']
