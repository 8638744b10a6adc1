"""The watchdog: heartbeats are a list, the clock is set, and a socket stands for systemd."""

import datetime
import json
import logging
import socket

import pytest

from placement_worker.health.heartbeats import COLUMNS, Heartbeat, HeartbeatTable
from placement_worker.health.liveness_file import LivenessFile
from placement_worker.health.systemd import Systemd
from placement_worker.health.thresholds import Thresholds
from placement_worker.health.watchdog import Watchdog, utcnow

THRESHOLDS = Thresholds(poll_age_s=30, request_age_s=900, reconnect_age_s=0, disconnected_s=20)
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Clock:
    """A monotonic clock that tests set."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def heartbeats(clock):
    """Heartbeats of two processes."""
    return HeartbeatTable([7.0] * 2 * COLUMNS, clock())


def serve(heartbeats, clock, *numbers, begun_at=None):
    """Publish heartbeats of processes whose servers have just polled."""
    for number in numbers:
        heartbeats.start_process(number, 100 + number)
        servers = [Heartbeat(clock(), begun_at, None), Heartbeat(clock(), None, None)]
        heartbeats.publish(number, servers, clock())


@pytest.fixture
def systemd(tmp_path):
    """A service manager and a function that returns the notifications it received."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(str(tmp_path / 'notify'))
        datagrams.setblocking(False)

        def received():
            notifications = []
            while True:
                try:
                    notifications.append(datagrams.recv(100).decode())
                except BlockingIOError:
                    return notifications

        yield Systemd(str(tmp_path / 'notify')), received


def create(heartbeats, clock, systemd=None, file=None, thresholds=THRESHOLDS):
    """Return a watchdog that is not started."""
    return Watchdog(
        heartbeats,
        thresholds,
        systemd or Systemd(None),
        LivenessFile(file),
        monotonic=clock,
        clock=lambda: NOON,
    )


def test_check_reports_each_loss_and_each_return_of_the_broker_once(
    heartbeats, clock, systemd, caplog
):
    """The log and systemd receive one message per change of the readiness."""
    caplog.set_level(logging.INFO)
    manager, received = systemd
    watchdog = create(heartbeats, clock, manager)
    serve(heartbeats, clock, 0, 1)
    watchdog.check()
    lost = [Heartbeat(clock(), None, clock() - 25), Heartbeat(clock(), None, None)]
    heartbeats.publish(0, lost, clock())
    assert watchdog.check()
    assert watchdog.check()
    serve(heartbeats, clock, 0, 1)
    watchdog.check()

    reason = 'process 100 has had no broker connection for 25.0 s (limit 20 s)'
    assert caplog.messages == [
        'All 2 processes serve',
        f'The worker is not ready: {reason}',
        'The worker is ready again',
    ]
    assert [one for one in received() if one != 'WATCHDOG=1'] == [
        'READY=1',
        f'STATUS=Not ready: {reason}',
        'STATUS=Ready',
    ]


def test_check_notifies_systemd_of_readiness_once_and_of_liveness_each_time(
    heartbeats, clock, systemd
):
    """READY=1 waits for all processes; WATCHDOG=1 stops as soon as one is not alive."""
    manager, received = systemd
    watchdog = create(heartbeats, clock, manager)
    serve(heartbeats, clock, 0)
    assert watchdog.check()
    assert received() == ['WATCHDOG=1']

    serve(heartbeats, clock, 1)
    assert watchdog.check()
    assert received() == ['READY=1', 'WATCHDOG=1']

    clock.now += 31
    serve(heartbeats, clock, 0)
    assert not watchdog.check()
    assert received() == []

    serve(heartbeats, clock, 1)
    assert watchdog.check()
    assert received() == ['WATCHDOG=1']

    watchdog.begin_stop()
    clock.now += 31
    assert watchdog.check()
    assert received() == ['STOPPING=1', 'WATCHDOG=1']


def test_check_logs_each_change_of_the_liveness_once_with_the_reasons(heartbeats, clock, caplog):
    """A worker that is not alive for hours does not flood the log."""
    caplog.set_level(logging.INFO)
    watchdog = create(heartbeats, clock)
    serve(heartbeats, clock, 0, 1)
    watchdog.check()
    clock.now += 31
    watchdog.check()
    watchdog.check()
    serve(heartbeats, clock, 0, 1)
    watchdog.check()

    assert caplog.messages == [
        'All 2 processes serve',
        'The worker is not alive: process 100 last polled 31.0 s ago (limit 30 s); '
        'process 101 last polled 31.0 s ago (limit 30 s)',
        'The worker is alive again',
    ]


def test_check_of_a_single_process_logs_the_singular(clock, caplog):
    """A worker of one process logs that this process serves, not that all of them do."""
    caplog.set_level(logging.INFO)
    heartbeats = HeartbeatTable([0.0] * COLUMNS, clock())
    serve(heartbeats, clock, 0)

    create(heartbeats, clock).check()

    assert caplog.messages == ['The process serves']


def test_check_writes_the_state_of_all_processes_and_close_deletes_it(heartbeats, clock, tmp_path):
    """The liveness file holds the result of the last check as long as the worker runs."""
    file = tmp_path / 'liveness'
    watchdog = create(heartbeats, clock, file=str(file))
    serve(heartbeats, clock, 0, 1, begun_at=990)
    clock.now += 0.5
    watchdog.check()

    assert json.loads(file.read_text()) == {
        'checked_at': '2026-01-01T12:00:00+00:00',
        'alive': True,
        'reasons': [],
        'ready': True,
        'missing': [],
        'processes': [
            {'pid': 100, 'poll_age_s': 0.5, 'request_age_s': 10.5, 'disconnected_s': None},
            {'pid': 101, 'poll_age_s': 0.5, 'request_age_s': 10.5, 'disconnected_s': None},
        ],
    }
    watchdog.close()
    assert not file.exists()


def test_file_of_a_process_that_has_not_started_has_no_pid(clock, tmp_path):
    """A script must not signal process 0, which is its own process group."""
    file = tmp_path / 'liveness'
    unstarted = HeartbeatTable([0.0] * COLUMNS, clock())

    create(unstarted, clock, file=str(file)).check()

    assert [one['pid'] for one in json.loads(file.read_text())['processes']] == [None]


def test_check_that_cannot_write_its_file_notifies_systemd_all_the_same(
    heartbeats, clock, systemd, tmp_path
):
    """A full disk does not make systemd restart the worker."""
    manager, received = systemd
    watchdog = create(heartbeats, clock, manager, file=str(tmp_path / 'none' / 'liveness'))

    watchdog.check()
    watchdog.check()

    assert received() == ['WATCHDOG=1', 'WATCHDOG=1']


def test_start_checks_at_once_and_close_ends_the_checks(heartbeats, clock, tmp_path):
    """Probes find a liveness file as soon as the worker has started."""
    file = tmp_path / 'liveness'
    watchdog = create(heartbeats, clock, file=str(file))

    watchdog.start()
    assert file.exists()
    watchdog.close()
    assert not file.exists()


@pytest.mark.parametrize(
    ('poll_age_s', 'watchdog_s', 'interval_s'),
    [(30, None, 5), (30, 60, 5), (30, 4, 2), (2, None, 1), (30, 0.01, 0.1)],
)
def test_interval_fits_twice_into_each_timeout(
    heartbeats, clock, poll_age_s, watchdog_s, interval_s
):
    """A single late check does not make systemd restart the worker."""
    thresholds = THRESHOLDS._replace(poll_age_s=poll_age_s)
    watchdog = create(heartbeats, clock, Systemd(None, watchdog_s), thresholds=thresholds)

    assert watchdog.interval_s == interval_s


def test_utcnow_is_aware_of_its_time_zone():
    """Times in the liveness file can be compared between machines."""
    assert utcnow().utcoffset() == datetime.timedelta(0)
