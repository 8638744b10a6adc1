"""All phases of the DevStack plugin with a real RabbitMQ, installation and commands."""

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.errors import NoWorkerAnswered
from tests.broker import program
from tests.devstack.host import REPOSITORY, UNIT, Host, settings_of

pytestmark = pytest.mark.long

REQUEST = yaml.safe_load((REPOSITORY / 'examples' / 'scale-out.yaml').read_text())
USER, PASSWORD, VHOST = 'stackrabbit', 'rabbit-secret', 'placement'


@pytest.fixture
def host(own_broker, tmp_path):
    """A host with Senlin and the worker, installed from a copy because pip writes into it."""
    settings = {'RABBIT_PORT': own_broker.port, 'PLACEMENT_WORKER_CLOUD_BACKEND': 'inventory'}
    host = Host(tmp_path, ['senlin', 'placement-worker'], ENABLED_SERVICES='key,rabbit', **settings)
    environment = shlex.join(f'{name}={value}' for name, value in own_broker.environment.items())
    host.put(
        'rabbitmqctl', f'#!/bin/sh\nexec env {environment} {program("rabbitmqctl")} --quiet "$@"\n'
    )
    own_broker.control('add_user', USER, PASSWORD)
    own_broker.control('set_permissions', USER, '.*', '.*', '.*')
    (host.dest / 'placement-worker').unlink()
    left_out = shutil.ignore_patterns('.*', '*.egg-info', '__pycache__', 'build', 'dist')
    shutil.copytree(REPOSITORY, host.dest / 'placement-worker', symlinks=True, ignore=left_out)
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', host.venv], check=True)
    yield host
    host.end_units()


def processes(host):
    found = []
    for file in Path('/proc').glob('[0-9]*/cmdline'):
        try:
            command = file.read_bytes().split(b'\0')
        except OSError:
            continue
        if os.fsencode(host.conf) in command:
            found.append(int(file.parent.name))
    return found


def ask(host):
    """Send a request to the worker that senlin.conf names and return the status."""
    url = settings_of(host.senlin_conf)['placement_worker']['transport_url']
    with closing(PolicyClient(url, timeout_s=5)) as client:
        return str(client.policy_check(REQUEST).action.data['status'])


def test_stack_unstack_clean_and_stack_again_leave_a_working_worker(host, own_broker):
    """Each phase undoes or repeats the one before."""

    def run(phase):
        done = host.run(phase)
        assert done.status == 0, done.stderr
        return done.stdout

    stacked = run('stack')

    assert (host.dest / 'installed').read_text() == 'placement-worker \n', (
        'no extra that brings another Senlin'
    )
    unit = settings_of(host.units / UNIT)['Service']
    assert unit['execstart'] == f'{host.venv}/bin/placement-worker --config-file {host.conf}'
    assert (host.units / f'{UNIT}.enabled').exists()
    assert 'Check: Exchange and queues' in stacked
    assert ask(host) == 'OK'

    run('unstack')

    assert processes(host) == []
    assert not (host.units / f'{UNIT}.enabled').exists()
    assert host.conf.exists(), 'unstack leaves the configuration for the next stack'
    with pytest.raises(NoWorkerAnswered):
        ask(host)

    run('clean')

    assert not host.conf.parent.exists()
    assert VHOST not in own_broker.control('list_vhosts').split()

    run('stack')

    assert ask(host) == 'OK'
    run('unstack')
    assert processes(host) == []
