"""The properties of the region placement policy."""

import pytest

from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec

PLACES = {'regions': [{'name': 'a'}]}


def test_spread_of_regions_before_version_1_1_is_absent(registry):
    """Version 1.0 tolerates every skew, and refuses the property as unknown."""
    name = 'senlin.policy.region_placement'

    assert registry.policy(Spec(name, '1.0', PLACES), '$').properties.spread is None
    with pytest.raises(InvalidSpec, match='unknown field `spread`'):
        registry.policy(Spec(name, '1.0', {**PLACES, 'spread': {}}), '$')
