"""The metrics of cordons."""

import datetime

import pytest
from prometheus_client import CollectorRegistry

from placement_worker.metrics.cordon_collector import CordonCollector
from placement_worker.planning.places import Cordon
from tests.factories import NOW

DAY = datetime.timedelta(days=1)


class FakeCordons:
    """The cordons of a file: one in force twice, and one that has ended."""

    all = (
        Cordon(zone='az1', until=NOW + DAY),
        Cordon(zone='az1', until=NOW + 2 * DAY),
        Cordon(region='R1', until=NOW - DAY, evacuate=True),
    )
    is_valid = True


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    registry.register(CordonCollector(FakeCordons, lambda: NOW))
    return registry


def test_active_cordons_are_those_in_force(registry):
    """A cordon that has ended is not counted."""
    assert registry.get_sample_value('placement_worker_active_cordons') == 2


@pytest.mark.parametrize('is_valid', [True, False])
def test_validity_of_the_file_is_one_or_zero(registry, monkeypatch, is_valid):
    """An alert can observe that the last valid cordons stay in force."""
    monkeypatch.setattr(FakeCordons, 'is_valid', is_valid)

    assert registry.get_sample_value('placement_worker_cordon_file_valid') == is_valid


def test_each_place_has_one_series_with_its_last_end(registry):
    """Two cordons of a place do not repeat a series, which Prometheus would refuse."""
    name = 'placement_worker_cordon_end_timestamp_seconds'
    (family,) = (one for one in registry.collect() if one.name == name)

    assert {tuple(one.labels.values()): one.value for one in family.samples} == {
        ('az1', '', 'false'): (NOW + 2 * DAY).timestamp(),
        ('', 'R1', 'true'): (NOW - DAY).timestamp(),
    }


def test_series_of_a_removed_cordon_disappears(registry, monkeypatch):
    """An alert about a cordon that has ended stops when the cordon is removed."""
    monkeypatch.setattr(FakeCordons, 'all', ())

    assert registry.get_sample_value('placement_worker_active_cordons') == 0
    assert not [
        one
        for family in registry.collect()
        for one in family.samples
        if one.name == 'placement_worker_cordon_end_timestamp_seconds'
    ]
