"""Tests for the quiet hours, at a given time."""

import datetime

import pytest
from quiet_hours import QuietHours

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.testing import registry_of

CLOUD = Inventory.parse({'zones': {'az1': True}}, 'the test')
TYPES = registry_of(
    {'example.policy.quiet_hours-1.0': QuietHours, 'example.policy.quiet_hours-1.1': QuietHours}
)


def status(version: str, properties: dict[str, object], now: datetime.datetime) -> object:
    """Return the status of a check at a given time."""
    worker = InProcessCaller(CLOUD, TYPES, now=lambda: now)
    spec = {'type': QuietHours.name, 'version': version, 'properties': properties}
    reply = worker.policy_check(
        {
            'target': 'BEFORE',
            'action': {'id': 'a1', 'action': 'CLUSTER_RECOVER'},
            'cluster': {'id': 'c1', 'profile': {'type': 'os.nova.server-1.0'}, 'nodes': []},
            'policies': [{'id': 'p1', 'spec': spec}],
        }
    )
    return reply.action.data['status']


@pytest.mark.parametrize(('hour', 'expected'), [(5, 'OK'), (6, 'ERROR'), (8, 'OK')])
def test_check_in_the_quiet_hours_is_rejected(hour: int, expected: str) -> None:
    """The policy rejects an action from the first hour up to the last."""
    now = datetime.datetime(2026, 1, 1, hour, tzinfo=datetime.UTC)
    assert status('1.0', {'from': 6, 'to': 8}, now) == expected


@pytest.mark.parametrize(('weekends', 'expected'), [(True, 'ERROR'), (False, 'OK')])
def test_check_at_a_weekend_follows_the_property(weekends: bool, expected: str) -> None:
    """Version 1.1 ignores the quiet hours at weekends if the spec says so."""
    saturday = datetime.datetime(2026, 1, 3, 7, tzinfo=datetime.UTC)
    properties: dict[str, object] = {'from': 6, 'to': 8, 'weekends': weekends}
    assert status('1.1', properties, saturday) == expected
