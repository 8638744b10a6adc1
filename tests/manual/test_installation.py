"""The manual's commands for root: a worker is installed, started, looked after and upgraded, as the pages say.

Its folders in /etc, /opt and /usr/local are seen by the test alone, user and group, too. The broker is a private one.
`bin/` stands in for systemd, which does not run in containers; the unit is still what `systemd-analyze` finds sound.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.broker import Broker
from tests.manual import ways, workspace
from tests.manual.machine import Machine
from tests.manual.pages import ROOT, blocks

STAND_INS = Path(__file__).parent / 'bin'
SOURCE = ROOT / 'doc' / 'source'
CONFIGURED = '/etc/placement-worker/placement-worker.conf'
PASSWORD = 'hunter2'
OF_ANOTHER_USER = f'setpriv --reuid=nobody --clear-groups cat {CONFIGURED}'

pytestmark = pytest.mark.long


class Operator:
    """Who types the commands of pages, in a clone's folder on such a machine."""

    def __init__(self, machine, broker, folder):
        self.machine, self.broker, self.folder = machine, broker, folder
        state = folder.parent / 'state'
        state.mkdir()
        of_broker = ' '.join(f'{name}={value}' for name, value in broker.environment.items() if ' ' not in value)
        self.env = workspace.environment(
            PATH=f'{STAND_INS}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{workspace.python_folder()}',
            STAND_IN_STATE=str(state),
            STAND_IN_BROKER=of_broker,
        )

    def type_in(self, command):
        asked = f'{PASSWORD}\n{PASSWORD}\n' if 'add_user' in command else ''
        named = re.sub(r'\bHOST\b', 'testhost', command)
        return workspace.type_in(self.machine.entered(named), self.folder, self.env, asked)

    def follow(self, page, before_block=lambda block: None):
        for block in blocks(page):
            if block.kind == 'ini':
                self.configure(block.text)
            commands = [one for one in block.commands if ways.way(page.stem, one).how == ways.ROOT]
            if commands:
                before_block(block)
            for command in commands:
                self.type_in(command)

    def configure(self, shown):
        """Put what a page shows into the configuration, with this broker's address."""
        url = f'rabbit://placement-worker:{PASSWORD}@127.0.0.1:{self.broker.port}/placement'
        settings = re.sub(r'(?<=transport_url = ).*', url, shown)
        if 'auth_type' in shown:
            settings = settings.partition('[service_auth]')[0] + '[worker]\nhost = testhost\nworkers = 1\n'
        self.type_in(f'printf "%s\\n" {shlex.quote(settings)} >> {CONFIGURED}')


@pytest.fixture(scope='module')
def operator(tmp_path_factory):
    """One whose machine has a clone and a broker, and nothing else."""
    if refusal := Machine.refusal():
        pytest.skip(refusal)
    folder, broker = tmp_path_factory.mktemp('operator') / 'clone', Broker()
    workspace.clone(folder)
    try:
        broker.start()
        with Machine() as machine:
            operator = Operator(machine.start(), broker, folder)
            yield operator
            if 'pid' in operator.type_in('ls "$STAND_IN_STATE"').split():
                operator.type_in('systemctl stop placement-worker')
    finally:
        broker.close()


def test_the_manual_leads_from_nothing_to_a_worker_that_is_looked_after(operator):
    """Installation, operation and the rest, in this order, each command as it stands."""
    operator.follow(SOURCE / 'install.rst')

    assert operator.type_in(f'stat -c "%U:%G %a" {CONFIGURED}') == 'root:placement-worker 640\n'
    with pytest.raises(AssertionError, match='Permission denied'):
        operator.type_in(OF_ANOTHER_USER)

    def serve(block):
        if not operator.type_in('ls "$STAND_IN_STATE"').count('pid'):
            operator.type_in('systemctl start placement-worker')

    operator.follow(SOURCE / 'operating.rst', serve)
    operator.follow(SOURCE / 'bus-security.rst')

    assert 'Guru Meditation' in operator.type_in('cat "$STAND_IN_STATE/journal"')


def test_the_readmes_completion_of_the_shell_is_installed(operator):
    operator.type_in('mkdir -p /etc/bash_completion.d')

    operator.follow(ROOT / 'README.rst')

    assert 'parked' in operator.type_in('cat /etc/bash_completion.d/placement-policy')
