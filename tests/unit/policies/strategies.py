"""Random clusters."""

from hypothesis import strategies as st

from tests.factories import node


@st.composite
def members_in(draw, zones, regions, states):
    """Draw nodes in some of the zones, regions and states, which are fields of a node."""
    values = st.tuples(*map(st.sampled_from, (zones, regions, states)))
    drawn = draw(st.lists(values, min_size=1, max_size=12))
    return [node(i, zone, region, **state) for i, (zone, region, state) in enumerate(drawn, 1)]
