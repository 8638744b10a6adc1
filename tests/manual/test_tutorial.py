"""The tutorial and the first line of the README, typed in a fresh clone.

Packages come from PyPI. The broker is private, unlike that of the tutorial.
"""

import contextlib
import itertools
import os
import signal
import socket
import subprocess

import pytest

from tests.broker import Broker
from tests.functional.conftest import has_ended
from tests.manual import ways, workspace
from tests.manual.pages import ROOT, blocks
from tests.ports import free_ports
from tests.process_reaper import Program, Reaper
from tests.waiting import wait_for

pytestmark = pytest.mark.long

TUTORIAL, README = ROOT / 'doc' / 'source' / 'tutorial.rst', ROOT / 'README.rst'
TUTORIAL_BROKER = 'rabbit://guest:guest@127.0.0.1:5672/'
TUTORIAL_SECOND_PORT = '5673'
START_TIMEOUT_S = 180


class Newcomer:
    def __init__(self, clone, broker):
        workspace.clone(clone)
        self.clone, self.broker_url, self.broker_port = clone, broker.url, broker.port
        self.epmd_port = broker.environment['ERL_EPMD_PORT']
        self.worker = None
        system = f'{workspace.python_folder()}:/usr/bin:/bin'
        self.env = {
            'PATH': system,
            'HOME': str(clone.parent),
            'LANG': 'C.UTF-8',
            'PIP_NO_INPUT': '1',
            'PIP_COMPILE': '0',  # the first import compiles a module
        }

    def write(self, block):
        (self.clone / block.caption).write_text(
            f'{block.text}\n'.replace(TUTORIAL_BROKER, self.broker_url)
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
        """Start a worker as in a terminal of its own, and wait until it serves."""
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
        wait_for(lambda: 'Serving' in log.read_text() or has_ended(self.worker), START_TIMEOUT_S)
        assert not has_ended(self.worker), log.read_text()

    def press_ctrl_c(self):
        """Send SIGINT to the process group, as a terminal does."""
        os.killpg(self.worker.pid, signal.SIGINT)
        self.worker.wait(START_TIMEOUT_S)


@pytest.fixture
def newcomer(tmp_path):
    with contextlib.closing(Broker()) as broker:
        newcomer = Newcomer(tmp_path / 'clone', broker.start())
        yield newcomer
        if newcomer.worker and not has_ended(newcomer.worker):
            os.killpg(newcomer.worker.pid, signal.SIGKILL)
            newcomer.worker.wait()


def test_tutorial_typed_in_order_prints_the_shown_output(newcomer):
    """Each command of the tutorial, run in order, prints the output that the page shows."""
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


def test_first_line_of_the_readme_leads_to_a_decision(newcomer):
    """The first line of the README installs the program and decides a check."""
    (line,) = [
        one
        for block in blocks(README)
        for one in block.commands
        if ways.way('README', one).how == ways.FRESH
    ]

    assert 'zones: az1 1, az2 6' in newcomer.type_in(line)


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


def test_second_broker_of_the_tutorial_runs_next_to_another_and_is_stopped(newcomer, tmp_path):
    """The second broker runs with the variables of the tutorial, whose command stops it alone."""
    typed = [one for block in blocks(TUTORIAL) for one in block.commands]
    (command,) = [one for one in typed if TUTORIAL_SECOND_PORT in one]
    (stop,) = [one for one in typed if 'broker/pid' in one and one != command]
    port, distribution = free_ports(2)
    here = f'cd {newcomer.clone} && exec {command.replace(TUTORIAL_SECOND_PORT, str(port))}'
    env = {
        **newcomer.env,
        'ERL_EPMD_PORT': newcomer.epmd_port,
        'RABBITMQ_DIST_PORT': str(distribution),
    }
    log, gone = tmp_path / 'broker-log', tmp_path / 'gone'
    gone.mkdir()

    reaper = Reaper(gone, [Program(['bash', '-c', here], str(log))], env)
    try:
        wait_for(
            lambda: not reaper.runs or (log.exists() and 'completed' in log.read_text()),
            START_TIMEOUT_S,
        )
        assert reaper.runs, log.read_text()
        with contextlib.closing(socket.create_connection(('127.0.0.1', port), 1)) as probe:
            probe.sendall(b'AMQP\0\0\x09\x01')
            assert probe.recv(1)
        newcomer.type_in(stop)
        wait_for(lambda: not accepts(port))
        assert accepts(newcomer.broker_port)
    finally:
        reaper.close()
