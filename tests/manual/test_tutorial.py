"""The tutorial, and the README's first line, typed by somebody who has a clone and nothing else.

What they install comes from PyPI. Only the broker is another one than the tutorial's: a private
one.
"""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import time

import pytest

from tests.broker import Broker, free_ports
from tests.manual import ways, workspace
from tests.manual.pages import ROOT, blocks
from tests.process_reaper import Guard, Program

pytestmark = pytest.mark.long

TUTORIAL, README = ROOT / 'doc' / 'source' / 'tutorial.rst', ROOT / 'README.rst'
THEIR_BROKER = 'rabbit://guest:guest@127.0.0.1:5672/'
THEIR_OTHER_PORT = '5673'
START_TIMEOUT_S = 60


class Newcomer:
    """Who types commands into a terminal, in the folder of a clone."""

    def __init__(self, clone, broker):
        workspace.clone(clone)
        self.clone, self.broker_url, self.epmd_port = (
            clone,
            broker.url,
            broker.environment['ERL_EPMD_PORT'],
        )
        self.worker = None
        system = f'{workspace.python_folder()}:/usr/bin:/bin'
        self.env = {
            'PATH': system,
            'HOME': str(clone.parent),
            'LANG': 'C.UTF-8',
            'PIP_NO_INPUT': '1',
        }

    def write(self, block):
        (self.clone / block.caption).write_text(
            f'{block.text}\n'.replace(THEIR_BROKER, self.broker_url)
        )

    def type_in(self, command):
        if command.startswith('export PATH='):
            self.env['PATH'] = workspace.type_in(
                f'{command}; echo "$PATH"', self.clone, self.env
            ).strip()
            return ''
        if command.startswith('placement-worker '):
            self.start(command)
            return ''
        return workspace.type_in(command, self.clone, self.env)

    def start(self, command):
        """As in a terminal of its own, until it says that it serves."""
        log = self.clone.parent / 'log'
        with log.open('w') as output:
            self.worker = subprocess.Popen(
                ['bash', '-c', f'exec {command}'],
                cwd=self.clone,
                env=self.env,
                stdout=output,
                stderr=output,
                process_group=0,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while 'Serving' not in log.read_text():
            assert self.worker.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

    def press_ctrl_c(self):
        """The terminal tells all processes of the group."""
        os.killpg(self.worker.pid, signal.SIGINT)
        self.worker.wait(START_TIMEOUT_S)


@pytest.fixture
def newcomer(tmp_path):
    broker = Broker()
    try:
        newcomer = Newcomer(tmp_path / 'clone', broker.start())
        yield newcomer
        if newcomer.worker and newcomer.worker.poll() is None:
            os.killpg(newcomer.worker.pid, signal.SIGKILL)
            newcomer.worker.wait()
    finally:
        broker.close()


def test_a_newcomer_sees_what_the_tutorial_shows(newcomer):
    """Everything is typed in its order, also the files, and everything that is printed is
    compared.
    """
    for block, following in itertools.pairwise([*blocks(TUTORIAL), None]):
        if block.caption:
            newcomer.write(block)
        typed = [
            one
            for one in block.commands
            if ways.way(TUTORIAL.stem, one).how in (ways.FRESH, ways.HERE)
        ]
        printed = ''.join(newcomer.type_in(command) for command in typed)
        if block.commands and following and following.is_output:
            assert workspace.timeless(printed) == workspace.timeless(following.text), (
                following.place
            )

    newcomer.press_ctrl_c()


def test_the_first_line_of_the_readme_leads_to_a_decision(newcomer):
    (line,) = [
        one
        for block in blocks(README)
        for one in block.commands
        if ways.way('README', one).how == ways.FRESH
    ]

    assert 'zones: az1 1, az2 6' in newcomer.type_in(line)


def test_a_broker_of_ones_own_runs_beside_the_one_that_is_there(newcomer, tmp_path):
    """Under another name, on another port, with its data in the clone; it needs no more than the
    tutorial sets.
    """
    (command,) = [
        one for block in blocks(TUTORIAL) for one in block.commands if THEIR_OTHER_PORT in one
    ]
    port, distribution = free_ports(2)
    here = f'cd {newcomer.clone} && exec {command.replace(THEIR_OTHER_PORT, str(port))}'
    env = {
        **newcomer.env,
        'ERL_EPMD_PORT': newcomer.epmd_port,
        'RABBITMQ_DIST_PORT': str(distribution),
    }
    log, gone = tmp_path / 'broker-log', tmp_path / 'gone'
    gone.mkdir()

    guard = Guard(gone, [Program(['bash', '-c', here], str(log))], env)
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while 'completed' not in (log.read_text() if log.exists() else ''):
            assert guard.runs, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        with contextlib.closing(socket.create_connection(('127.0.0.1', port), 1)) as probe:
            probe.sendall(b'AMQP\0\0\x09\x01')
            assert probe.recv(1)
        assert (newcomer.clone / 'broker').is_dir()
    finally:
        guard.close()
