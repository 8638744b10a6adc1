"""The order of creation: every prefix is as even as integers allow."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.interleaving import interleave_groups


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

    places = {(group, place): n for group, inside in groups.items() for place, n in inside.items()}
    assert Counter(ordered) == Counter(places)
    for length in range(1, len(ordered) + 1):
        prefix = Counter(ordered[:length])
        for group, inside in groups.items():
            in_group = sum(prefix[group, place] for place in inside)
            shares = [(in_group, sum(inside.values()))]
            shares += [(prefix[group, place], count) for place, count in inside.items()]
            assert all(n * len(ordered) - length * count < len(ordered) for n, count in shares)
