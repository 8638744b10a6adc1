"""The order of creation: every prefix is as even as integers allow."""

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.interleaving import interleave, interleave_groups


@given(st.dictionaries(st.text('abcdefgh', min_size=1, max_size=2), st.integers(0, 30), max_size=8))
def test_every_prefix_keeps_each_place_within_a_node_of_its_share(counts):
    """In every prefix each place is less than a node ahead of its share."""
    ordered = interleave(counts)

    total = sum(counts.values())
    assert {place: ordered.count(place) for place in counts} == counts
    for place, count in counts.items():
        for length in range(1, total + 1):
            assert ordered[:length].count(place) * total - length * count < total


@given(
    st.dictionaries(
        st.sampled_from(['R1', 'R2', 'R3', 'R4']),
        st.dictionaries(st.sampled_from('abcde'), st.integers(0, 12)),
        max_size=4,
    )
)
def test_every_prefix_spreads_regions_and_their_places(groups):
    """In no prefix is a region, or a place of any region, a whole node ahead of its share."""
    ordered = interleave_groups(groups)

    total = len(ordered)
    assert total == sum(sum(counts.values()) for counts in groups.values())
    for length in range(1, total + 1):
        prefix = ordered[:length]
        for group, counts in groups.items():
            ahead = sum(region == group for region, _ in prefix) * total - length * sum(
                counts.values()
            )
            assert not total or ahead < total
            for place, count in counts.items():
                assert prefix.count((group, place)) * total - length * count < total
