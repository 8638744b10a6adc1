"""Places that the request states, for all nodes at once and for one."""

from collections import defaultdict

from hypothesis import example, given
from hypothesis import strategies as st

from placement_worker.cloud.stated_places import by_stated_place, stated_place
from placement_worker.contract import codec
from placement_worker.contract.cluster import Node

names = st.sampled_from(['a', 'b', '', None, 7, ['a'], {}])
placements = st.one_of(
    st.sampled_from([None, 'a', []]),
    st.dictionaries(st.sampled_from(['zone', 'region_name']), names),
)
texts = st.sampled_from(['a', 'b', '', None])
profiles = texts.map(
    lambda region: {'type': 't', 'properties': {'context': {'region_name': region}}}
)
details = texts.map(lambda zone: {'OS-EXT-AZ:availability_zone': zone})


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """Return a node whose place may be anywhere, valid or not."""
    described = {
        'id': 'n',
        'data': draw(st.sampled_from([{}, {'placement': draw(placements)}])),
        'profile': draw(st.none() | profiles),
        'details': draw(st.none() | details),
    }
    return codec.decode(described, Node)


NAMED = {'context': {'region_name': 'a'}}
UNNAMED = [
    codec.decode(described, Node)
    for described in (
        {'id': 'n', 'data': {'placement': {}}},
        {
            'id': 'm',
            'data': {'placement': {'region_name': None, 'zone': None}},
            'profile': {'type': 't', 'properties': NAMED},
        },
    )
]
"""Two nodes whose placements name no place; the profile of one names a region."""


@given(st.lists(nodes(), max_size=8))
@example(UNNAMED)
def test_nodes_by_place_are_those_of_each_place(listed):
    """The places of all nodes at once are the places of each node, also of malformed ones."""
    expected = defaultdict(list)
    for one in listed:
        expected[stated_place(one)].append(one)

    assert by_stated_place(listed) == expected
