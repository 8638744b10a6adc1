"""The ports that tests reserve."""

import subprocess
import sys
from pathlib import Path

from tests.ports import RANGE, free_ports

ROOT = Path(__file__).parents[2]


def test_reserved_port_is_given_to_no_other_process():
    """A port that one test run has reserved is not free for another one."""
    (port,) = free_ports(1)
    program = f'from tests.ports import _reserve; print(_reserve({port}))'

    done = subprocess.run(
        [sys.executable, '-c', program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == 'False\n'


def test_reserved_ports_are_not_those_of_clients():
    """The kernel gives none of the ports to a client."""
    clients = Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()

    assert RANGE[-1] < int(clients[0])
    assert set(free_ports(3)) < set(RANGE)
