"""The order of creation: every prefix as even as integers allow."""

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.interleaving import interleave, interleave_groups


@given(st.dictionaries(st.text('abcdefgh', min_size=1, max_size=2), st.integers(0, 30), max_size=8))
def test_in_no_prefix_is_a_place_a_whole_node_ahead_of_its_share(counts):
    dealt = interleave(counts)

    total = sum(counts.values())
    assert {place: dealt.count(place) for place in counts} == counts
    for place, count in counts.items():
        for length in range(1, total + 1):
            assert dealt[:length].count(place) * total - length * count < total


def test_a_large_place_does_not_run_ahead_of_many_small_ones():
    assert interleave({'big': 3, 'x': 1, 'y': 1, 'z': 1}) == ['big', 'x', 'big', 'y', 'big', 'z']


@given(
    st.dictionaries(
        st.sampled_from(['R1', 'R2', 'R3', 'R4']),
        st.dictionaries(st.sampled_from('abcde'), st.integers(0, 12)),
        max_size=4,
    )
)
def test_regions_and_the_places_in_them_are_both_spread(groups):
    dealt = interleave_groups(groups)

    total = len(dealt)
    assert total == sum(sum(counts.values()) for counts in groups.values())
    for length in range(1, total + 1):
        prefix = dealt[:length]
        for group, counts in groups.items():
            ahead = sum(region == group for region, _ in prefix) * total - length * sum(
                counts.values()
            )
            assert not total or ahead < total
            for place, count in counts.items():
                assert prefix.count((group, place)) * total - length * count < total


def test_equal_regions_take_turns_whatever_their_zones():
    dealt = interleave_groups({'R1': {'a': 1, 'b': 1}, 'R2': {'c': 1, 'd': 1}})

    assert [region for region, _ in dealt] == ['R1', 'R2', 'R1', 'R2']
