"""Who is alive, and who is told: the board is a list, the clock is set, and a socket stands for
systemd.
"""

import datetime
import json
import logging
import socket
import subprocess
import sys

import pytest

from placement_worker.health import liveness
from placement_worker.health.liveness import CELLS, Board, Bounds, Process, Pulse, Systemd, Watch

BOUNDS = Bounds(poll_age_s=30, request_age_s=900, reconnect_age_s=0, disconnected_s=20)
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def board(clock):
    """Of two processes."""
    return Board([7.0] * 2 * CELLS, clock())


def serve(board, clock, *numbers, begun_at=None):
    """Processes whose servers have just polled."""
    for number in numbers:
        board.begin(number, 100 + number)
        board.publish(number, [Pulse(clock(), begun_at, None), Pulse(clock(), None, None)], clock())


@pytest.fixture
def systemd(tmp_path):
    """Receives what is told; `heard()` returns it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(str(tmp_path / 'notify'))
        datagrams.setblocking(False)

        def heard():
            words = []
            while True:
                try:
                    words.append(datagrams.recv(100).decode())
                except BlockingIOError:
                    return words

        yield Systemd(str(tmp_path / 'notify')), heard


def watching(board, clock, systemd=None, file=None, bounds=BOUNDS):
    return Watch(board, bounds, systemd or Systemd(None), file, monotonic=clock, clock=lambda: NOON)


def test_the_board_has_the_oldest_poll_and_the_oldest_request_of_all_servers_of_a_process(board):
    board.begin(1, 4711)
    board.publish(1, [Pulse(998, 990, None), Pulse(995, None, None)], 1000)

    idle, busy = board.read(1000)

    assert idle == Process(0, serves=False, poll_age_s=0, request_age_s=None, disconnected_s=None)
    assert busy == Process(4711, serves=True, poll_age_s=5, request_age_s=10, disconnected_s=None)


def test_of_two_requests_in_work_the_older_one_counts(board):
    board.publish(0, [Pulse(1000, 990, None), Pulse(1000, 980, None)], 1000)

    assert board.read(1000)[0].request_age_s == 20


def test_a_process_that_waits_for_a_broker_is_alive_and_does_not_serve(board, clock):
    serve(board, clock, 0, 1)
    clock.now += 300
    board.publish(0, [None, None], clock())
    board.publish(1, [Pulse(clock(), None, None), None], clock())

    processes = board.read(clock())

    assert [one.serves for one in processes] == [False, False]
    assert liveness.faults(processes, BOUNDS) == []


def test_a_process_in_the_place_of_a_dead_one_has_no_request_yet_and_keeps_the_age_of_the_last_poll(
    board, clock
):
    serve(board, clock, 0, begun_at=900)
    clock.now += 31

    board.begin(0, 4712)

    assert board.read(clock())[0] == Process(4712, False, 31, None, None)


@pytest.mark.parametrize(
    ('process', 'found'),
    [
        (Process(7, True, 30, None, None), []),
        (
            Process(7, True, 31.25, None, None),
            ['process 7 last polled 31.2 s ago, allowed are 30 s'],
        ),
        (
            Process(0, False, 31, None, None),
            ['a process that has not started last polled 31.0 s ago, allowed are 30 s'],
        ),
        (Process(7, True, 0, 900, None), []),
        (
            Process(7, True, 0, 901, None),
            ['process 7 has a request in work for 901.0 s, allowed are 900 s'],
        ),
    ],
)
def test_a_process_is_at_fault_beyond_a_bound_and_not_at_it(process, found):
    assert liveness.faults([process], BOUNDS) == found


def test_a_worker_that_stops_polls_no_more_but_must_not_hang_in_a_request():
    processes = [Process(7, True, 100, 10, None), Process(8, True, 100, 901, None)]

    assert liveness.faults(processes, BOUNDS, stopping=True) == [
        'process 8 has a request in work for 901.0 s, allowed are 900 s'
    ]


@pytest.mark.parametrize(('reconnect_age_s', 'alive'), [(0, True), (200, True), (99, False)])
def test_a_process_without_a_broker_is_not_alive_only_beyond_a_bound_of_its_own(
    reconnect_age_s, alive
):
    """An outage of the broker restarts no worker, unless an operator bounds the age of the last
    attempt.
    """
    stuck = Process(7, True, 100, None, 100)

    assert (
        liveness.faults([stuck], BOUNDS._replace(reconnect_age_s=reconnect_age_s)) == []
    ) is alive


@pytest.mark.parametrize(
    ('process', 'missing'),
    [
        (Process(7, True, 0, None, None), []),
        (Process(7, True, 0, None, 20), []),
        (
            Process(7, True, 0, None, 21),
            ['process 7 has had no broker connection for 21.0 s, allowed are 20 s'],
        ),
        (
            Process(0, False, 0, None, None),
            ['a process that has not started has not reached the broker yet'],
        ),
    ],
)
def test_a_process_is_ready_while_it_has_a_broker_connection_or_lost_it_just_now(process, missing):
    """A worker that has been disconnected for longer than the bound is alive and not ready."""
    assert liveness.unready([process], BOUNDS) == missing
    assert liveness.faults([process], BOUNDS) == []


def test_the_loss_of_the_broker_is_reported_and_its_return(board, clock, systemd, caplog):
    """Log and systemd say once that the worker is not ready, and once that it is again."""
    caplog.set_level(logging.INFO)
    manager, heard = systemd
    watch = watching(board, clock, manager)
    serve(board, clock, 0, 1)
    watch.judge()
    board.publish(0, [Pulse(clock(), None, clock() - 25), Pulse(clock(), None, None)], clock())
    assert watch.judge()
    assert watch.judge()
    serve(board, clock, 0, 1)
    watch.judge()

    assert caplog.messages == [
        'All 2 processes serve',
        'The worker is not ready: process 100 has had no broker connection for 25.0 s, allowed are 20 s',
        'The worker is ready again',
    ]
    reason = 'process 100 has had no broker connection for 25.0 s, allowed are 20 s'
    assert [words for words in heard() if words != 'WATCHDOG=1'] == [
        'READY=1',
        f'STATUS=Not ready: {reason}',
        'STATUS=Ready',
    ]


def test_systemd_is_told_ready_once_all_serve_and_the_watchdog_as_long_as_all_are_alive(
    board, clock, systemd
):
    manager, heard = systemd
    watch = watching(board, clock, manager)
    serve(board, clock, 0)
    assert watch.judge()
    assert heard() == ['WATCHDOG=1']

    serve(board, clock, 1)
    assert watch.judge()
    assert heard() == ['READY=1', 'WATCHDOG=1']

    clock.now += 31
    serve(board, clock, 0)
    assert not watch.judge()
    assert heard() == []

    serve(board, clock, 1)
    assert watch.judge()
    assert heard() == ['WATCHDOG=1']

    watch.stopping()
    clock.now += 31
    assert watch.judge()
    assert heard() == ['STOPPING=1', 'WATCHDOG=1']


def test_a_change_is_logged_once_with_the_reason(board, clock, caplog):
    caplog.set_level(logging.INFO)
    watch = watching(board, clock)
    serve(board, clock, 0, 1)
    watch.judge()
    clock.now += 31
    watch.judge()
    watch.judge()
    serve(board, clock, 0, 1)
    watch.judge()

    assert caplog.messages == [
        'All 2 processes serve',
        'The worker is not alive: process 100 last polled 31.0 s ago, allowed are 30 s; '
        'process 101 last polled 31.0 s ago, allowed are 30 s',
        'The worker is alive again',
    ]


def test_the_file_says_what_was_found_and_is_gone_with_the_worker(board, clock, tmp_path):
    file = tmp_path / 'liveness'
    watch = watching(board, clock, file=str(file))
    serve(board, clock, 0, 1, begun_at=990)
    clock.now += 0.5
    watch.judge()

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
    assert list(tmp_path.iterdir()) == [file]
    watch.close()
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_logged_once_and_systemd_is_told_all_the_same(
    board, clock, systemd, caplog, tmp_path
):
    manager, heard = systemd
    watch = watching(board, clock, manager, file=str(tmp_path / 'none' / 'liveness'))

    watch.judge()
    watch.judge()

    assert heard() == ['WATCHDOG=1', 'WATCHDOG=1']
    (message,) = caplog.messages
    assert message.startswith('[worker] liveness_file cannot be written: ')


def test_systemds_socket_is_taken_out_of_the_environment_with_its_patience():
    environment = {'NOTIFY_SOCKET': '@abstract', 'WATCHDOG_USEC': '3000000'}

    systemd = Systemd.of(environment)

    assert 'NOTIFY_SOCKET' not in environment
    assert systemd.watchdog_s == 3


def test_a_socket_of_the_abstract_namespace_is_reached():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind('\0placement-worker-test')
        datagrams.settimeout(5)
        Systemd('@placement-worker-test').tell('READY=1')

        assert datagrams.recv(100) == b'READY=1'


def test_without_systemd_nobody_is_told_and_one_that_is_gone_is_put_up_with(tmp_path, caplog):
    Systemd.of({}).tell('READY=1')
    assert caplog.messages == []

    Systemd(str(tmp_path / 'gone')).tell('READY=1')
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ('poll_age_s', 'watchdog_s', 'every_s'),
    [(30, None, 5), (30, 60, 5), (30, 4, 2), (2, None, 1), (30, 0.01, 0.1)],
)
def test_it_judges_at_least_twice_within_each_bound(board, clock, poll_age_s, watchdog_s, every_s):
    watch = watching(
        board, clock, Systemd(None, watchdog_s), bounds=BOUNDS._replace(poll_age_s=poll_age_s)
    )

    assert watch.every_s == every_s


def written(tmp_path, content):
    file = tmp_path / 'liveness'
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


def said(seconds_ago=0, **more):
    return {
        'checked_at': (NOON - datetime.timedelta(seconds=seconds_ago)).isoformat(),
        'alive': True,
        **more,
    }


@pytest.mark.parametrize(
    ('content', 'complaint'),
    [
        (said(), None),
        (said(60), None),
        (said(61), 'FILE was written 61 s ago, allowed are 60 s'),
        (said(-61), 'FILE was written -61 s ago, allowed are 60 s'),
        (said(alive=False, reasons=['a', 'b']), 'The worker is not alive: a; b'),
        (said(alive='no'), 'The worker is not alive: it does not say why'),
        ('', 'FILE is not what placement-worker writes'),
        ('[]', 'FILE is not what placement-worker writes'),
        ({'checked_at': 'noon', 'alive': True}, 'FILE is not what placement-worker writes'),
        (
            {'checked_at': '2026-01-01T12:00:00', 'alive': True},
            'FILE is not what placement-worker writes',
        ),
        ({'alive': True}, 'FILE is not what placement-worker writes'),
    ],
)
def test_a_probe_is_content_with_a_file_that_is_fresh_and_says_alive(tmp_path, content, complaint):
    file = written(tmp_path, content)

    assert liveness.complaint(file, 60, NOON) == (complaint and complaint.replace('FILE', file))


@pytest.mark.parametrize(
    ('content', 'complaint'),
    [
        (said(ready=True), None),
        (said(ready=False, missing=['a', 'b']), 'The worker is not ready: a; b'),
        (said(alive=False, ready=True, reasons=['c']), 'The worker is not alive: c'),
        (said(), 'FILE is not what placement-worker writes'),
    ],
)
def test_a_probe_for_readiness_wants_a_worker_that_is_alive_and_ready(tmp_path, content, complaint):
    """A worker without a broker is alive for one probe and not ready for the other."""
    file = written(tmp_path, content)

    assert liveness.complaint(file, 60, NOON, ready=True) == (
        complaint and complaint.replace('FILE', file)
    )


def test_a_probe_without_a_file_says_what_that_means(tmp_path):
    assert liveness.complaint(str(tmp_path / 'none'), 60, NOON).endswith(
        'none: No such file or directory: placement-worker does not run, or has another [worker] liveness_file'
    )


def test_what_repeats_ends_when_it_is_told():
    count = []
    halt = liveness.repeat(lambda: count.append(1), 0.01)
    while len(count) < 3:
        pass
    halt()
    done = len(count)

    assert len(count) == done


def probe(*arguments):
    program = 'import sys; from placement_worker.cmd.status import main; sys.exit(main())'
    return subprocess.run(
        [sys.executable, '-c', program, *arguments], capture_output=True, text=True, check=False
    )


def test_the_probe_ends_with_0_or_with_1_and_a_line(tmp_path):
    file = written(tmp_path, {**said(), 'checked_at': liveness.utcnow().isoformat()})

    good = probe('liveness', '--file', file)
    unready = probe('readiness', '--file', file)
    bad = probe('liveness', '--file', written(tmp_path, said()), '--max-age', '5')

    assert (good.returncode, good.stdout, good.stderr) == (0, '', '')
    assert unready.returncode == 1
    assert (
        unready.stderr
        == f'placement-worker-status readiness: {file} is not what placement-worker writes\n'
    )
    assert bad.returncode == 1
    assert bad.stderr.startswith(f'placement-worker-status liveness: {file} was written ')
    assert bad.stderr.count('\n') == 1


@pytest.mark.parametrize('arguments', [['liveness'], ['liveness', '--file', 'f', '--max-age', '0']])
def test_wrong_arguments_of_the_probe_are_told_apart_from_a_dead_worker(arguments):
    assert probe(*arguments).returncode == 2


def test_without_a_command_the_program_says_which_there_are():
    done = probe()

    assert done.returncode == 0
    assert 'upgrade check' in done.stdout


def test_the_probe_imports_nothing_that_takes_long(tmp_path):
    file = written(tmp_path, {**said(), 'checked_at': liveness.utcnow().isoformat()})
    code = (
        f'import sys; from placement_worker.cmd.status import main; sys.argv = ["p", "liveness", "--file", {file!r}]; '
        'status = main(); slow = {"oslo_messaging", "kombu", "oslo_config", "oslo_service", "multiprocessing"}; '
        'sys.exit(status or sorted(slow & {name.split(".")[0] for name in sys.modules}) or 0)'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, '')
