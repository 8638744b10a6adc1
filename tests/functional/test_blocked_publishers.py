"""Clients of a broker that blocks publishers, because it is short of memory."""

import subprocess
import sys
import time
from contextlib import closing, contextmanager

import pytest

from placement_worker.errors import BrokerUnreachable
from tests.factories import request, zone_policy
from tests.waiting import wait_for

CLOUD = {'zones': {'a': True}}
# More than the interval of heartbeats: each one restarts the timeout of oslo.messaging.
TIMEOUT_S = 8
LATE_S = 2
ASKED = request('CLUSTER_SCALE_OUT', [zone_policy('a')])
LARGE = request('CLUSTER_SCALE_OUT', [zone_policy('a')], data={'padding': 'x' * 12 * 2**20})


@contextmanager
def memory_alarm(broker):
    broker.control('set_vm_memory_high_watermark', 'absolute', '1')
    try:
        yield
    finally:
        broker.control('set_vm_memory_high_watermark', '0.6')


def succeeds(client):
    """Return whether the client sends again; the old request must be confirmed before."""
    try:
        return client.policy_check(ASKED).action.data['status'] == 'OK'
    except BrokerUnreachable:
        return False


@pytest.mark.long
@pytest.mark.parametrize('method', ['policy_check', 'cast_check'])
def test_request_to_a_broker_that_blocks_publishers_ends_with_its_cause(
    start_worker, own_broker, method
):
    """A call and a cast end in time although heartbeats arrive; after the alarm, calls succeed."""
    worker = start_worker(CLOUD, url=own_broker.url)
    with closing(worker.client(timeout_s=TIMEOUT_S)) as client:
        client.policy_check(ASKED)
        with memory_alarm(own_broker):
            began = time.monotonic()
            with pytest.raises(BrokerUnreachable, match='the broker blocks publishers while'):
                getattr(client, method)(ASKED)
            took = time.monotonic() - began
        wait_for(lambda: succeeds(client))

    assert TIMEOUT_S <= took < TIMEOUT_S + LATE_S


@pytest.mark.long
def test_large_request_to_a_broker_that_blocks_publishers_ends_with_its_cause(
    start_worker, own_broker
):
    """The broker stops reading in the middle of the request, which needs another connection."""
    worker = start_worker(CLOUD, url=own_broker.url)
    with closing(worker.client(timeout_s=TIMEOUT_S)) as client:
        client.policy_check(ASKED)
        with (
            memory_alarm(own_broker),
            pytest.raises(BrokerUnreachable, match='the broker blocks publish'),
        ):
            client.policy_check(LARGE)
        wait_for(lambda: succeeds(client))


@pytest.mark.long
def test_command_on_a_broker_that_blocks_publishers_prints_one_line(start_worker, own_broker):
    """The messages of the library do not hide the cause and the hint."""
    worker = start_worker(CLOUD, url=own_broker.url)
    ping = ['-m', 'placement_worker', 'ping', '--config-file', str(worker.config), '--timeout', '3']
    with memory_alarm(own_broker):
        done = subprocess.run([sys.executable, *ping], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, '')
    (line,) = done.stderr.splitlines()
    assert line.startswith('placement-policy ping: The request could not be delivered: ')
    assert line.endswith('has no alarm')
