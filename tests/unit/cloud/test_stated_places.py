"""Places that the request states."""

import pytest

from placement_worker.cloud.stated_places import stated_place
from placement_worker.contract import codec
from placement_worker.contract.model import Node

PROFILE = {'type': 't', 'properties': {'context': {'region_name': 'P'}}}
DETAILS = {'OS-EXT-AZ:availability_zone': 'd'}


@pytest.mark.parametrize(
    ('placement', 'more', 'place'),
    [
        ({'region_name': 'R', 'zone': 'a'}, {'profile': PROFILE, 'details': DETAILS}, ('R', 'a')),
        ({}, {'profile': PROFILE, 'details': DETAILS}, ('P', 'd')),
        ({'region_name': None, 'zone': ''}, {'details': DETAILS}, (None, 'd')),
        ({'region_name': 7, 'zone': ['a']}, {}, (None, None)),
        ('a', {'profile': PROFILE}, ('P', None)),
    ],
    ids=['data', 'profile and details', 'null and empty', 'malformed', 'no map'],
)
def test_stated_place_comes_from_the_first_source_that_names_it(placement, more, place):
    """A log of an earlier version may hold malformed places, which count as absent."""
    node = codec.decode({'id': 'n', 'data': {'placement': placement}, **more}, Node)

    assert stated_place(node) == place
