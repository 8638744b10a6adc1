"""Freezes, alarms and clocks that jump: nothing confirmed is lost, and the log says what happened.

Each outage comes in two lengths: a few of a short heartbeat, which CI runs, and the length that the
manual states.
"""

import contextlib
import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.freezing import frozen
from tests.functional.engine import repeat, slow
from tests.functional.outages.harness import served_after
from tests.waiting import wait_for

HEARTBEAT_S = 4
CLOCK = Path(__file__).with_name('clock.c')
LOST = 'Lost the connection to the broker at '
BLOCKED = 'The broker blocks a connection'
TWO_PROCESSES = {'workers': 2, 'threads': 3}


def lengths(long_s):
    """The two lengths of an outage, with the query of the transport URL that goes with each."""
    short = f'?heartbeat_timeout_threshold={HEARTBEAT_S}', 3 * HEARTBEAT_S
    return pytest.mark.parametrize(
        ('query', 'seconds'),
        [
            pytest.param(*short, marks=pytest.mark.long, id='short'),
            pytest.param('', long_s, marks=pytest.mark.outage, id=f'{long_s} s'),
        ],
    )


class Load:
    """Casts and calls that go on during an outage, so that some are in flight at any time."""

    def __init__(self, busy):
        self._busy = busy
        busy.cast(40)
        self.stop = repeat(lambda: busy.waiting() < 50 and busy.cast(10), every_s=0.1)
        busy.call(60)

    def waiting(self):
        return self._busy.waiting()

    def ended(self):
        """Wait for all replies, check that no confirmed request lacks one, and return a summary."""
        self.stop()
        summary = self._busy.summary()
        replies = [json.loads(str(self._busy.received[name])) for name in self._busy.confirmed]
        assert {reply['action']['data']['status'] for reply in replies} == {'OK'}
        return summary


@pytest.fixture
def load(engine):
    loads = []

    def start(worker):
        loads.append(Load(engine(worker)))
        return loads[-1]

    yield start
    for one in loads:
        one.stop()


@lengths(90)
def test_worker_frozen_under_load_loses_nothing_and_serves_again(
    query, seconds, start, load, own_broker
):
    """Another worker replies to the requests in flight of a frozen one, which recovers."""
    sleeper = start(url=own_broker.url + query, **TWO_PROCESSES)
    other = start(url=own_broker.url + query, **TWO_PROCESSES, topic=sleeper.topic)
    busy = load(sleeper)
    with frozen(sleeper.process.pid, *sleeper.children()):
        time.sleep(seconds)
    other.stop()
    took = served_after(sleeper, other.url)

    print(f'worker frozen for {seconds} s: served again after {took:.1f} s, {busy.ended()}')
    assert 'was redelivered\n' in other.log.read_text()
    assert LOST in sleeper.log.read_text()


@lengths(90)
def test_broker_frozen_under_load_loses_nothing_confirmed(query, seconds, start, load, own_broker):
    """A frozen broker delivers no reply; when it goes on, each confirmed request gets one."""
    worker = start(url=own_broker.url + query, **TWO_PROCESSES)
    busy = load(worker)
    with own_broker.frozen():
        time.sleep(seconds)
    took = served_after(worker, worker.url)

    print(f'broker frozen for {seconds} s: served again after {took:.1f} s, {busy.ended()}')
    assert LOST in worker.log.read_text()


@lengths(45)
def test_memory_alarm_under_load_loses_nothing_confirmed(query, seconds, start, load, own_broker):
    """Requests that meet a memory alarm of the broker get their replies after it."""
    worker = start(url=own_broker.url + query, **TWO_PROCESSES)
    busy = load(worker)
    with contextlib.ExitStack() as alarm:
        # so that requests are left when the broker blocks their publishers
        with frozen(worker.process.pid, *worker.children()):
            wait_for(lambda: busy.waiting() >= 30)
            alarm.enter_context(own_broker.memory_alarm())
        wait_for(lambda: BLOCKED in worker.log.read_text())
        time.sleep(seconds)
    took = served_after(worker, worker.url)

    print(f'memory alarm of {seconds} s: served again after {took:.1f} s, {busy.ended()}')


@pytest.mark.long
def test_worker_whose_clock_jumps_ahead_answers_all_and_logs_expired_requests(
    start, load, tmp_path
):
    """A worker whose clock jumps ahead replies, and logs requests that seem expired."""
    library, jump = tmp_path / 'clock.so', tmp_path / 'jump'
    subprocess.run(['cc', '-shared', '-fPIC', '-o', library, CLOCK], check=True)
    environment = {'LD_PRELOAD': str(library), 'CLOCK_AHEAD': str(jump)}
    worker = start(**TWO_PROCESSES, environment=environment)
    busy = load(worker)
    jump.touch()

    with contextlib.closing(worker.client(timeout_s=60)) as client:
        answer = client.policy_check(slow(0)).action.data
    print(f'clock jumped 90 s ahead: {busy.ended()}')
    assert answer == {'status': 'ERROR', 'reason': 'Request expired'}
    assert 's before a worker began it' in worker.log.read_text()
