"""Times as people read them."""

import datetime

import pytest

from placement_worker.formats import moments


@pytest.mark.parametrize(
    ('moment', 'shown'),
    [
        ('2026-12-01T00:00:00+00:00', '2026-12-01'),
        ('2026-12-01T06:30:00+00:00', '2026-12-01T06:30:00Z'),
        ('2026-12-01T00:00:00+01:00', '2026-12-01T00:00:00+01:00'),
    ],
    ids=['midnight in UTC', 'UTC', 'another offset'],
)
def test_moment_is_shown_in_iso_8601_with_its_offset(moment, shown):
    """A reader sees which time zone a time is in, and a day without a time of day."""
    assert moments.shown(datetime.datetime.fromisoformat(moment)) == shown
