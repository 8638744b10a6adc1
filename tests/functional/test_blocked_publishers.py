"""Clients of a broker that blocks publishers, because it is short of memory."""

import time
from contextlib import closing

import pytest

from placement_worker.errors import BrokerUnreachable
from tests.factories import request, zone_policy
from tests.functional.conftest import run
from tests.waiting import wait_for

# More than the interval of heartbeats: each one restarts the timeout of oslo.messaging.
TIMEOUT_S = 8
LATE_S = 2
ASKED = request('CLUSTER_SCALE_OUT', [zone_policy('a')])
LARGE = request('CLUSTER_SCALE_OUT', [zone_policy('a')], data={'padding': 'x' * 12 * 2**20})


def succeeds(client):
    """Return whether the client sends again; the old request must be confirmed before."""
    try:
        return client.policy_check(ASKED).action.data['status'] == 'OK'
    except BrokerUnreachable:
        return False


@pytest.mark.long
@pytest.mark.parametrize(
    ('method', 'asked'),
    [('policy_check', ASKED), ('cast_check', ASKED), ('policy_check', LARGE)],
    ids=['call', 'cast', 'large call'],
)
def test_request_to_a_broker_that_blocks_publishers_ends_with_its_cause(
    start_worker, own_broker, method, asked
):
    """A call and a cast end in time although heartbeats arrive; after the alarm, calls succeed.

    The broker stops reading in the middle of a large request, which needs another connection.
    """
    worker = start_worker(url=own_broker.url)
    with closing(worker.client(timeout_s=TIMEOUT_S)) as client:
        client.policy_check(ASKED)
        with own_broker.memory_alarm():
            began = time.monotonic()
            with pytest.raises(BrokerUnreachable, match='the broker blocks publishers while'):
                getattr(client, method)(asked)
            took = time.monotonic() - began
        wait_for(lambda: succeeds(client))

    assert asked is LARGE or TIMEOUT_S <= took < TIMEOUT_S + LATE_S


@pytest.mark.long
def test_command_on_a_broker_that_blocks_publishers_prints_one_line(start_worker, own_broker):
    """The messages of the library do not hide the cause and the hint."""
    worker = start_worker(url=own_broker.url)
    with own_broker.memory_alarm():
        done = run('placement-policy', 'ping', '--config-file', worker.config, '--timeout', 3)

    assert (done.returncode, done.stdout) == (2, '')
    (line,) = done.stderr.splitlines()
    assert line.startswith('placement-policy ping: The request could not be delivered: ')
    assert line.endswith('has no alarm')
