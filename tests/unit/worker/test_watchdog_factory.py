"""The watchdog that the configuration describes."""

import json
import time

import pytest

from placement_worker.health.heartbeats import COLUMNS, Heartbeat, HeartbeatTable
from placement_worker.worker import watchdog_factory
from tests.config_files import default_options


@pytest.fixture
def liveness_file(tmp_path):
    return tmp_path / 'liveness.json'


@pytest.fixture
def conf(liveness_file):
    """Options with a different value per threshold."""
    conf = default_options()
    options = {
        'liveness_file': str(liveness_file),
        'liveness_poll_age_s': 1100,
        'liveness_request_age_s': 2200,
        'liveness_reconnect_age_s': 3300,
        'readiness_disconnected_s': 4400,
    }
    for name, value in options.items():
        conf.set_override(name, value, group='worker')
    return conf


@pytest.mark.parametrize(
    ('poll_age_s', 'request_age_s', 'disconnected_s', 'unmet'),
    [
        (0, None, None, {'reasons': [], 'missing': []}),
        (1101, None, None, {'reasons': ['(limit 1100 s)'], 'missing': []}),
        (0, 2201, None, {'reasons': ['(limit 2200 s)'], 'missing': []}),
        (3301, None, 0, {'reasons': ['(limit 3300 s)'], 'missing': []}),
        (0, None, 4401, {'reasons': [], 'missing': ['(limit 4400 s)']}),
    ],
    ids=['none', 'poll', 'request', 'reconnect', 'disconnected'],
)
def test_create_applies_each_option_to_its_limit_and_writes_the_configured_file(
    conf, liveness_file, poll_age_s, request_age_s, disconnected_s, unmet
):
    """A worker beyond a limit is reported with the value of the option for that limit."""
    now = time.monotonic()
    heartbeats = HeartbeatTable([0.0] * COLUMNS, now)
    begun_at = None if request_age_s is None else now - request_age_s
    lost_at = None if disconnected_s is None else now - disconnected_s
    heartbeats.publish(0, [Heartbeat(now - poll_age_s, begun_at, lost_at)], now)

    watchdog_factory.create(conf, heartbeats, {}).check()

    state = json.loads(liveness_file.read_text())
    limits = {key: [text[text.index('(') :] for text in state[key]] for key in unmet}
    assert limits == unmet


def test_create_takes_the_address_of_systemd_from_the_environment(conf):
    """Cotyledon finds no address, so it does not report readiness before the watchdog does."""
    environment = {'NOTIFY_SOCKET': '/run/systemd/notify', 'WATCHDOG_USEC': '4000000'}
    heartbeats = HeartbeatTable([0.0] * COLUMNS, time.monotonic())

    watchdog = watchdog_factory.create(conf, heartbeats, environment)

    assert 'NOTIFY_SOCKET' not in environment
    assert watchdog.interval_s == 2  # half of systemd's timeout
