"""The commands of the manual for root: installation, operation and upgrade of a worker.

Changes to /etc, /opt, /usr/local, /var/log, users and groups are visible to the test only, and the
broker is private. `bin/` replaces systemd, which does not run in containers; another test has
`systemd-analyze` verify the unit.
"""

import contextlib
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from placement_worker.client.rpc_client import PolicyClient
from tests.broker import Broker
from tests.manual import ways, workspace
from tests.manual.machine import Machine
from tests.manual.pages import ROOT, blocks
from tests.ports import free_ports

STAND_INS = Path(__file__).parent / 'bin'
SOURCE = ROOT / 'doc' / 'source'
CONFIGURED = '/etc/placement-worker/placement-worker.conf'
PASSWORD = 'hunter2'
OF_ANOTHER_USER = f'setpriv --reuid=65534 --clear-groups cat {CONFIGURED}'

# Commands after which nothing is left for the rest of a page.
UNINSTALLS = re.compile('userdel|delete_vhost')

pytestmark = pytest.mark.long


class Operator:
    def __init__(self, machine, broker, folder):
        self.machine, self.broker, self.folder = machine, broker, folder
        state = folder.parent / 'state'
        state.mkdir()
        broker_environment = ' '.join(
            f'{name}={value}' for name, value in broker.environment.items() if ' ' not in value
        )
        self.env = workspace.environment(
            PATH=f'{STAND_INS}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{workspace.python_folder()}',
            STAND_IN_STATE=str(state),
            STAND_IN_BROKER=broker_environment,
            PIP_COMPILE='0',  # the first import compiles a module
        )

    def type_in(self, command):
        asked = f'{PASSWORD}\n{PASSWORD}\n' if 'add_user' in command else ''
        named = re.sub(r'\bHOST\b', 'testhost', command)
        return workspace.type_in(self.machine.entered(named), self.folder, self.env, asked)

    def type_in_while_asking(self, command):
        """Type a command while a client sends requests; return the process of each reply."""
        url = f'rabbit://placement-worker:{PASSWORD}@127.0.0.1:{self.broker.port}/placement'
        with (
            ThreadPoolExecutor(1) as typing,
            contextlib.closing(PolicyClient(url, timeout_s=120)) as client,
        ):
            typed, answers = typing.submit(self.type_in, command), []
            while not typed.done():
                answers.append(client.get_capabilities().pid)
                time.sleep(0.1)
            typed.result()
        return answers

    def check(self, more=''):
        """Return the output of an upgrade check by root, with the exit status as its last line."""
        check = f'placement-worker-status --config-file {CONFIGURED} {more} upgrade check --json'
        return self.type_in(f'status=0; {check} || status=$?; echo; echo exit status $status')

    def follow(self, page, before_block=lambda block: None, type_in=None, uninstalls=False):
        for block in [
            one for one in blocks(page) if bool(UNINSTALLS.search(one.text)) == uninstalls
        ]:
            if block.kind == 'ini':
                self.configure(block.text)
            commands = [one for one in block.commands if ways.way(page.stem, one).how == ways.ROOT]
            if commands:
                before_block(block)
            for command in commands:
                (type_in or self.type_in)(command)

    def configure(self, shown):
        """Write the options of a page to the configuration, with the ports of this test."""
        url = f'rabbit://placement-worker:{PASSWORD}@127.0.0.1:{self.broker.port}/placement'
        settings = re.sub(r'(?<=transport_url = ).*', url, shown)
        settings = re.sub(r'(?<=port = )9736', str(free_ports(1)[0]), settings)
        if 'auth_type' in shown:
            settings = (
                settings.partition('[service_auth]')[0] + '[worker]\nhost = testhost\nworkers = 1\n'
            )
        self.type_in(f'printf "%s\\n" {shlex.quote(settings)} >> {CONFIGURED}')


@pytest.fixture(scope='module')
def operator(tmp_path_factory):
    """Return an operator on a machine with only a clone and a broker."""
    if refusal := Machine.refusal():
        pytest.skip(refusal)
    folder = tmp_path_factory.mktemp('operator') / 'clone'
    workspace.clone(folder)
    with contextlib.closing(Broker()) as broker, Machine() as machine:
        operator = Operator(machine.start(), broker.start(), folder)
        yield operator
        if 'pid' in operator.type_in('ls "$STAND_IN_STATE"').split():
            operator.type_in('systemctl stop placement-worker')


def test_manual_installs_operates_and_upgrades_a_worker(operator):
    """The commands for installation, operation, upgrade and security work in this order."""
    operator.follow(SOURCE / 'install.rst')

    assert operator.type_in(f'stat -c "%U:%G %a" {CONFIGURED}') == 'root:placement-worker 640\n'
    with pytest.raises(AssertionError, match='Permission denied'):
        operator.type_in(OF_ANOTHER_USER)

    def serve(block):
        if not operator.type_in('ls "$STAND_IN_STATE"').count('pid'):
            operator.type_in('systemctl start placement-worker')

    responders = []

    def upgrade(command):
        if 'pip install' in command:
            responders.extend(operator.type_in_while_asking(command))
        else:
            operator.type_in(command)

    operator.follow(SOURCE / 'operating.rst', serve, upgrade)
    operator.follow(SOURCE / 'bus-security.rst')

    assert len(set(responders)) == 1, 'one process replied to all requests during the upgrade'
    loaded = operator.type_in(
        'grep -o "/opt/placement-worker[^/]*" "/proc/$(cat "$STAND_IN_STATE/pid")/maps"'
    )
    assert set(loaded.split()) == {'/opt/placement-worker-0.2.0'}


def test_completion_of_the_manual_is_installed(operator):
    """The command of the manual installs the completion for bash."""
    operator.type_in('mkdir -p /etc/bash_completion.d')

    operator.follow(SOURCE / 'commands.rst')

    assert 'parked' in operator.type_in('cat /etc/bash_completion.d/placement-policy')


@pytest.mark.parametrize(
    ('wrong', 'right', 'message'),
    [
        (f'chmod 0600 {CONFIGURED}', f'chmod 0640 {CONFIGURED}',
         f'Failed to open some config files: {CONFIGURED} (as user placement-worker)'),
        ('chmod 0600 /etc/placement-worker/cloud.yaml',
         'chmod 0640 /etc/placement-worker/cloud.yaml', 'Permission denied'),
        (f'printf "[decision_log]\nfile = /etc/placement-worker/d.jsonl\n" >> {CONFIGURED}',
         f'sed -i "/worker.d.jsonl/d" {CONFIGURED}',
         '[decision_log] file: user placement-worker cannot write /etc/placement-worker/d.jsonl'),
    ],
    ids=['configuration', 'inventory', 'decision-log'],
)  # fmt: skip
def test_an_upgrade_check_of_root_with_a_file_closed_to_the_service_fails(
    operator, wrong, right, message
):
    """The permissions of the service user count unless --user names another user."""
    assert operator.check().endswith('exit status 0\n')
    operator.type_in(wrong)
    try:
        printed, of_root = operator.check(), operator.check('--user root')
    finally:
        operator.type_in(right)

    assert message in printed
    assert printed.endswith('exit status 2\n')
    assert of_root.endswith('exit status 0\n')


def test_manual_uninstalls_a_worker_without_a_trace(operator):
    """The commands remove what those of the installation created, on the host and on the broker."""
    if not operator.type_in('ls /opt'):
        operator.follow(SOURCE / 'install.rst')
    if 'pid' not in operator.type_in('ls "$STAND_IN_STATE"').split():
        operator.type_in('systemctl start placement-worker')

    operator.follow(SOURCE / 'operating.rst', uninstalls=True)

    left = 'find /etc /opt /usr/local/bin /var/log -name "*placement*"'
    assert operator.type_in(left) == ''
    assert 'placement' not in operator.type_in('cat /etc/passwd /etc/group')
    assert 'placement' not in operator.type_in('rabbitmqctl list_vhosts; rabbitmqctl list_users')
