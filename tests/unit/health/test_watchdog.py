"""The watchdog: heartbeats are a list, the clock is set, and a socket stands for systemd."""

import datetime
import json
import logging
import math
import socket
import threading
import time

import pytest

from placement_worker.health import watchdog
from placement_worker.health.watchdog import (
    COLUMNS,
    HeartbeatTable,
    LivenessFile,
    ProcessState,
    Systemd,
    Thresholds,
    Watchdog,
    liveness_failures,
    readiness_failures,
)
from tests.waiting import wait_for

THRESHOLDS = Thresholds(poll_age_s=30, request_age_s=900, reconnect_age_s=0, disconnected_s=20)
NOW = 1000.0
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Clock:
    """A monotonic clock that tests set."""

    now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def heartbeats():
    return HeartbeatTable([7.0] * 2 * COLUMNS, NOW)


def serve(heartbeats, clock, *numbers, begun_at=None):
    """Publish heartbeats of processes whose servers have just polled."""
    for number in numbers:
        heartbeats.start_process(number, 100 + number)
        servers = [(clock(), begun_at, None), (clock(), None, None)]
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
    manager, file = systemd or Systemd(None), LivenessFile(file)
    return Watchdog(heartbeats, thresholds, manager, file, monotonic=clock, clock=lambda: NOON)


def test_check_reports_each_change_once_and_liveness_each_time(heartbeats, clock, systemd, caplog):
    """READY=1 waits for all processes; WATCHDOG=1 stops as soon as one is not alive."""
    caplog.set_level(logging.INFO)
    manager, received = systemd
    watchdog = create(heartbeats, clock, manager)

    def reported():
        """Return whether the worker is alive, and what two checks log and send."""
        caplog.clear()
        alive = watchdog.check()
        assert watchdog.check() is alive
        return alive, caplog.messages, received()

    alive = ['WATCHDOG=1'] * 2
    serve(heartbeats, clock, 0)
    assert reported() == (True, [], alive)

    serve(heartbeats, clock, 1)
    assert reported() == (True, ['All 2 processes serve'], ['READY=1', *alive])

    lost = [(clock(), None, clock() - 25), (clock(), None, None)]
    heartbeats.publish(0, lost, clock())
    reason = 'process 100 has had no broker connection for 25.0 s (limit 20 s)'
    message = f'The worker is not ready: {reason}'
    assert reported() == (True, [message], [f'STATUS=Not ready: {reason}', *alive])

    serve(heartbeats, clock, 0)
    assert reported() == (True, ['The worker is ready again'], ['STATUS=Ready', *alive])

    clock.now += 31
    reasons = [f'process {pid} last polled 31.0 s ago (limit 30 s)' for pid in (100, 101)]
    assert reported() == (False, [f'The worker is not alive: {"; ".join(reasons)}'], [])

    serve(heartbeats, clock, 0)
    assert not watchdog.check()
    serve(heartbeats, clock, 1)
    assert reported() == (True, ['The worker is alive again'], alive)

    watchdog.begin_stop()
    clock.now += 31
    assert watchdog.check()
    assert received() == ['STOPPING=1', 'WATCHDOG=1']


def test_check_writes_the_state_of_all_processes_and_close_deletes_it(heartbeats, clock, tmp_path):
    """The file holds the result of the last check, from the start to the end of the worker."""
    file = tmp_path / 'liveness'
    watchdog = create(heartbeats, clock, file=str(file))
    watchdog.start()
    assert json.loads(file.read_text())['ready'] is False
    serve(heartbeats, clock, 0, 1, begun_at=990)
    clock.now += 0.5
    watchdog.check()

    ages = {'poll_age_s': 0.5, 'request_age_s': 10.5, 'disconnected_s': None}
    healthy = {'alive': True, 'reasons': [], 'ready': True, 'missing': []}
    assert json.loads(file.read_text()) == {
        'checked_at': '2026-01-01T12:00:00+00:00',
        **healthy,
        'processes': [{'pid': 100, **ages}, {'pid': 101, **ages}],
    }
    assert list(tmp_path.iterdir()) == [file]  # a probe must not find half of a document
    watchdog.close()
    watchdog.close()
    assert not file.exists()


def test_check_of_a_single_process_logs_the_singular_and_writes_no_pid_before_its_start(
    clock, caplog, tmp_path
):
    """A script must not signal process 0, which is its own process group."""
    caplog.set_level(logging.INFO)
    file = tmp_path / 'liveness'
    heartbeats = HeartbeatTable([0.0] * COLUMNS, clock())
    watchdog = create(heartbeats, clock, file=str(file))

    watchdog.check()
    assert [process['pid'] for process in json.loads(file.read_text())['processes']] == [None]
    serve(heartbeats, clock, 0)
    watchdog.check()

    assert caplog.messages == ['The process serves']


def test_liveness_file_that_cannot_be_written_is_logged_once_until_it_can(tmp_path, caplog):
    """A folder that is missing for hours does not flood the log."""
    folder = tmp_path / 'late'
    file = LivenessFile(str(folder / 'liveness'))

    file.write({})
    file.write({})
    folder.mkdir()
    file.write({})
    folder.joinpath('liveness').unlink()
    folder.rmdir()
    file.write({})

    assert len(caplog.messages) == 2
    assert caplog.messages[0].startswith('Cannot write [worker] liveness_file: ')


def test_liveness_file_without_a_path_is_never_written(tmp_path, monkeypatch):
    """A worker without the option writes no liveness file."""
    monkeypatch.chdir(tmp_path)
    file = LivenessFile(None)

    file.write({})
    file.remove()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('poll_age_s', 'watchdog_s', 'interval_s'),
    [(30, None, 5), (30, 60, 5), (30, 4, 2), (2, None, 1), (30, 0.01, 0.1)],
)
def test_interval_fits_twice_in_each_timeout(heartbeats, clock, poll_age_s, watchdog_s, interval_s):
    """A single late check does not make systemd restart the worker."""
    thresholds = THRESHOLDS._replace(poll_age_s=poll_age_s)
    watchdog = create(heartbeats, clock, Systemd(None, watchdog_s), thresholds=thresholds)

    assert watchdog.interval_s == interval_s


SERVES = [(NOW, None, None)]
SEVERAL = [(998, 990, None), (995, 980, 970), (999, None, 975)]


@pytest.mark.parametrize(
    ('history', 'at', 'state'),
    [
        ([], NOW, ProcessState(0, math.inf, 0, None, None)),
        # A single server that hangs is not hidden by the others.
        ([4711, (NOW, SEVERAL)], NOW, ProcessState(4711, None, 5, 20, 30)),
        # A process serves only while all its servers listen.
        ([(NOW, [*SERVES, None])], NOW, ProcessState(0, math.inf, 0, None, None)),
        ([(NOW, [None, None])], NOW, ProcessState(0, math.inf, 0, None, None)),
        ([(NOW, SERVES), (NOW + 10, [None]), (NOW + 20, [None])], NOW + 20,
         ProcessState(0, 10, 0, None, None)),
        # Processes that die as soon as they start do not look alive.
        ([4711, (NOW, [(NOW, 900, 900)]), 4712], NOW + 31,
         ProcessState(4712, 31, 31, None, None)),
        # Attempts to reach the broker do not prolong the time without service.
        ([(NOW, SERVES), 4712, (NOW + 10, [None])], NOW + 12,
         ProcessState(4712, 12, 2, None, None)),
        # The parent may read while a heartbeat is published.
        ([(NOW, [(NOW + 1, NOW + 1, None)])], NOW, ProcessState(0, None, 0, 0, None)),
    ],
)  # fmt: skip
def test_state_of_a_process_has_the_oldest_times_of_its_servers(heartbeats, history, at, state):
    """The starts and heartbeats of a process change its own state alone."""
    for event in history:
        if isinstance(event, int):
            heartbeats.start_process(1, event)
        else:
            heartbeats.publish(1, event[1], event[0])

    other, process = heartbeats.read(at)

    assert process == state
    assert other == ProcessState(0, math.inf, at - NOW, None, None)


NOT_STARTED = 'a process that has not started'
UNREACHED = f'{NOT_STARTED} has not reached the broker yet'


@pytest.mark.parametrize(
    ('process', 'dead', 'unready'),
    [
        (ProcessState(7, None, 30, 900, 20), '', ''),
        (ProcessState(7, None, 31.25, None, None), 'process 7 last polled 31.2 s ago (limit 30 s)',
         ''),
        (ProcessState(0, math.inf, 31, None, None),
         f'{NOT_STARTED} last polled 31.0 s ago (limit 30 s)', UNREACHED),
        (ProcessState(7, None, 0, 901, None),
         'process 7 has had a request in flight for 901.0 s (limit 900 s)', ''),
        (ProcessState(7, None, 0, None, 21), '',
         'process 7 has had no broker connection for 21.0 s (limit 20 s)'),
        (ProcessState(0, math.inf, 0, None, None), '', UNREACHED),
        (ProcessState(7, 20, 0, None, None), '', ''),
        (ProcessState(7, 21, 0, None, None), '',
         'process 7 has not served for 21.0 s (limit 20 s)'),
    ],
)  # fmt: skip
def test_liveness_and_readiness_fail_beyond_a_threshold_and_not_at_it(process, dead, unready):
    """Each failure names the process, its age and the threshold; a worker that has been
    disconnected for longer than the threshold is alive and not ready.
    """
    assert '; '.join(liveness_failures([process], THRESHOLDS, stopping=False)) == dead
    assert '; '.join(readiness_failures([process], THRESHOLDS, stopping=False)) == unready


def test_worker_that_stops_is_not_ready_but_alive_unless_a_request_hangs():
    """A worker that stops need not poll, but it must not hang in a request."""
    processes = [ProcessState(7, None, 100, 10, None), ProcessState(8, None, 100, 901, None)]

    assert liveness_failures(processes, THRESHOLDS, stopping=True) == [
        'process 8 has had a request in flight for 901.0 s (limit 900 s)'
    ]
    assert readiness_failures(processes, THRESHOLDS, stopping=True) == ['the worker is stopping']


@pytest.mark.parametrize(('reconnect_age_s', 'alive'), [(0, True), (200, True), (99, False)])
def test_liveness_of_disconnected_process_depends_on_reconnect_age_s_alone(reconnect_age_s, alive):
    """An outage of the broker restarts no worker, unless an operator limits its age."""
    disconnected = ProcessState(7, None, 100, None, 100)
    thresholds = THRESHOLDS._replace(reconnect_age_s=reconnect_age_s)

    assert (liveness_failures([disconnected], thresholds, stopping=False) == []) is alive


def test_repeat_calls_the_function_again_until_it_is_stopped():
    """No call follows the return of the stop function, and a process that ends waits for none."""
    calls = []

    stop = watchdog.repeat_in_thread(lambda: calls.append(threading.current_thread()), 0.01)
    wait_for(lambda: len(calls) >= 3)
    stop()
    stopped_at = len(calls)
    time.sleep(0.05)

    assert len(calls) == stopped_at
    assert calls[0].daemon


def test_notify_reaches_a_socket_of_the_abstract_namespace():
    """An address with a leading @ names the abstract namespace of Linux."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind('\0placement-worker-test')
        datagrams.settimeout(5)
        Systemd('@placement-worker-test').notify('READY=1')

        assert datagrams.recv(100) == b'READY=1'


def test_notify_without_a_receiver_logs_a_warning(tmp_path, caplog):
    """A service manager that went away does not end the worker."""
    Systemd(str(tmp_path / 'gone')).notify('READY=1')

    (message,) = caplog.messages
    assert message.startswith('Notification READY=1 did not reach systemd: ')
