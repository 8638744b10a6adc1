"""Places: why they take no node, and the cordons that close them."""

import datetime

import msgspec
import pytest

from placement_worker.planning.places import Cordon, covering_cordon
from tests.factories import NOW

HOUR = datetime.timedelta(hours=1)


def cordon(hours=1, **more):
    """A cordon that ends some hours after NOW."""
    return Cordon(until=NOW + hours * HOUR, **more)


@pytest.mark.parametrize(
    ('own', 'region', 'zone', 'covered'),
    [
        ({'zone': 'a'}, 'R1', 'a', True),
        ({'zone': 'a'}, None, 'a', True),
        ({'zone': 'a'}, 'R1', 'b', False),
        ({'zone': 'a'}, 'R1', None, False),
        ({'region': 'R1'}, 'R1', None, True),
        ({'region': 'R1'}, 'R1', 'b', True),
        ({'region': 'R1'}, 'R2', 'b', False),
        ({'region': 'R1'}, None, 'b', False),
        ({'region': 'R1', 'zone': 'a'}, 'R1', 'a', True),
        ({'region': 'R1', 'zone': 'a'}, 'R2', 'a', False),
        ({'region': 'R1', 'zone': 'a'}, 'R1', None, False),
    ],
)
def test_cordon_covers_its_zone_or_all_zones_of_its_region(own, region, zone, covered):
    """A cordon of a zone closes no region, and a cordon of a region closes each of its zones."""
    assert cordon(**own).covers(region, zone) is covered


def test_cordon_of_place_with_several_ends_last_and_evacuates_if_one_does():
    """Two cordons of one place neither shorten nor weaken each other."""
    cordons = [cordon(2, zone='a', reason='long'), cordon(1, zone='a', evacuate=True)]

    assert covering_cordon(cordons, None, 'a') == cordon(2, zone='a', reason='long', evacuate=True)
    assert covering_cordon(cordons, None, 'b') is None


def test_cordon_without_place_or_with_local_time_is_refused():
    """The one would close everything; the other would mean another moment on each host."""
    with pytest.raises(ValueError, match='Expected `zone`, `region` or both, got none'):
        cordon()
    with pytest.raises(msgspec.ValidationError, match='timezone'):
        msgspec.convert({'zone': 'a', 'until': '2026-12-01T08:00:00'}, Cordon)
