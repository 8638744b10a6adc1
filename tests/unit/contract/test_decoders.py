"""Decoders that threads share."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PROCESSES = 24
FIRST_AT_ONCE = """
import sys, threading
sys.setswitchinterval(1e-6)
from placement_worker.contract import codec
from placement_worker.contract.model import CheckRequest
from tests.factories import node, request, zone_policy

asked = request('CLUSTER_SCALE_IN', [zone_policy('a')], [node(1, 'a')])
ready = threading.Barrier(8)

def decode():
    ready.wait()
    codec.decode(asked, CheckRequest)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def status_of_first_requests_at_once(_):
    return subprocess.run([sys.executable, '-c', FIRST_AT_ONCE], check=False).returncode


def test_first_requests_that_come_at_once_do_not_end_the_process():
    """Without care a third of these processes die of msgspec."""
    with ThreadPoolExecutor(2) as two:
        assert list(two.map(status_of_first_requests_at_once, range(PROCESSES))) == [0] * PROCESSES
