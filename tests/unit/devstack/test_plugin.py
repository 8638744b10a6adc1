"""DevStack's plugin, those of its phases that need no broker and no installation."""

import re
import stat

import pytest

from placement_worker import config
from placement_worker.config import validation
from placement_worker.worker import cloud_factory
from tests.config_files import Options
from tests.devstack.host import UNIT, Host, settings_of

SENLIN_FIRST, SENLIN_LAST = ('senlin', 'placement-worker'), ('placement-worker', 'senlin')
BUS = 'rabbit://stackrabbit:rabbit-secret@127.0.0.1:5672/placement'


def configured(tmp_path, plugins, **settings):
    host = Host(tmp_path, plugins, **settings)
    done = host.run('stack', 'pre-install', 'post-config')
    assert done.status == 0, done.stderr
    return host


def test_without_senlin_the_worker_gets_bus_cloud_and_a_service_user_of_its_own(tmp_path):
    host = configured(tmp_path, ['placement-worker'])

    written = settings_of(host.conf)
    assert written['DEFAULT']['transport_url'] == BUS
    assert written['DEFAULT']['debug'] == 'True'
    assert written['cloud'] == {'backend': 'openstack'}
    assert written['service_auth']['username'] == 'placement-worker'
    assert written['service_auth']['password'] == 'service-secret'
    assert written['service_auth']['region_name'] == 'RegionOne'
    assert host.keystone.read_text() == 'user placement-worker \n'
    assert not host.senlin_conf.exists()


@pytest.mark.parametrize('plugins', [SENLIN_FIRST, SENLIN_LAST])
def test_with_senlin_in_either_order_its_file_says_where_the_workers_are(tmp_path, plugins):
    host = configured(tmp_path, plugins)

    written = settings_of(host.senlin_conf)
    assert written['placement_worker'] == {'transport_url': BUS}
    assert written['DEFAULT']['transport_url'].endswith(':5672/'), (
        "Senlin's own bus stays where it is"
    )


@pytest.mark.parametrize('plugins', [SENLIN_FIRST, SENLIN_LAST])
def test_with_senlin_the_worker_is_the_trustee_of_its_trusts(tmp_path, plugins):
    host = configured(tmp_path, plugins)

    assert settings_of(host.conf)['service_auth']['username'] == 'senlin'
    assert 'placement-worker' not in host.keystone.read_text()


def test_interface_and_valid_interfaces_do_not_stand_side_by_side(tmp_path):
    auth = settings_of(configured(tmp_path, ['placement-worker']).conf)['service_auth']

    assert auth['valid_interfaces'] == 'public'
    assert 'interface' not in auth


@pytest.mark.parametrize('backend', ['openstack', 'inventory'])
def test_the_worker_can_start_with_what_is_written(tmp_path, backend):
    host = configured(tmp_path, ['placement-worker'], PLACEMENT_WORKER_CLOUD_BACKEND=backend)
    conf = Options()
    config.register(conf)

    conf(['--config-file', str(host.conf)], project='placement-worker')
    validation.validate_options(conf)
    cloud_factory.create(conf)

    assert conf.cloud.backend == backend


def test_the_configuration_is_for_its_owner_alone(tmp_path):
    host = configured(tmp_path, ['placement-worker'])

    assert stat.S_IMODE(host.conf.stat().st_mode) == 0o600
    assert stat.S_IMODE(host.conf.parent.stat().st_mode) == 0o750


def test_a_second_stack_leaves_nothing_of_the_first_in_the_configuration(tmp_path):
    host = configured(tmp_path, ['placement-worker'])
    first = host.conf.read_text()
    host.conf.write_text(f'{first}\n[worker]\nworkers = 3\n')

    host.run('stack', 'post-config')

    assert host.conf.read_text() == first


def test_the_cloud_may_be_one_that_a_file_describes(tmp_path):
    host = configured(tmp_path, ['placement-worker'], PLACEMENT_WORKER_CLOUD_BACKEND='inventory')

    file = host.dest / 'placement-worker' / 'examples' / 'cloud.yaml'
    assert settings_of(host.conf)['cloud'] == {'backend': 'inventory', 'inventory_file': str(file)}
    assert file.exists()


@pytest.mark.parametrize('script', ['stack', 'unstack', 'clean'])
def test_a_disabled_service_does_nothing(tmp_path, script):
    host = Host(tmp_path, ['placement-worker'], DISABLED_SERVICES='placement-worker')

    done = host.run(script)

    assert done.status == 0, done.stderr
    assert list(host.etc.iterdir()) == []
    assert list(host.units.iterdir()) == []


def test_without_rabbitmq_it_says_what_to_do(tmp_path):
    host = Host(tmp_path, ['placement-worker'], RABBIT_HOST='')

    done = host.run('stack', 'post-config')

    assert done.status == 1
    assert (
        '[ERROR] placement-worker needs RabbitMQ: enable_service rabbit, or set RABBIT_HOST'
        in done.stderr
    )


def test_a_worker_that_does_not_answer_ends_the_stack_and_names_its_journal(tmp_path):
    host = Host(tmp_path, ['placement-worker'], SERVICE_TIMEOUT=1)
    (host.venv / 'bin').mkdir(parents=True)
    (host.venv / 'bin' / 'placement-worker').symlink_to('/bin/true')
    (host.venv / 'bin' / 'placement-policy').symlink_to('/bin/false')

    done = host.run('stack', 'post-config', 'extra')

    assert done.status == 1
    assert (
        f'[ERROR] placement-worker did not answer: journalctl --unit {UNIT} says why' in done.stderr
    )


@pytest.mark.parametrize(('status', 'ends'), [(0, 0), (1, 0), (2, 1)])
def test_the_stack_ends_if_the_upgrade_check_fails_but_not_if_it_warns(tmp_path, status, ends):
    host = Host(tmp_path, ['placement-worker'])
    (host.venv / 'bin').mkdir(parents=True)
    program = host.venv / 'bin' / 'placement-worker-status'
    program.write_text(f'#!/bin/sh\nexit {status}\n')
    program.chmod(0o755)

    assert host.run('stack', 'test-config').status == ends


def test_clean_gets_along_with_a_broker_that_is_gone(tmp_path):
    host = Host(tmp_path, ['placement-worker'], ENABLED_SERVICES='rabbit')
    host.put('rabbitmqctl', '#!/bin/sh\nexit 69\n')
    host.conf.parent.mkdir()
    host.conf.touch()

    assert host.run('clean').status == 0
    assert not host.conf.parent.exists()


def test_the_plugin_leaves_no_names_but_its_own_in_the_shell_of_all_plugins(tmp_path):
    host = configured(tmp_path, SENLIN_FIRST)

    own = {name for name in host.new_names() if 'SENLIN' not in name or 'placement_worker' in name}
    assert own
    assert {
        name for name in own if not re.search('PLACEMENT_WORKER|placement_worker', name)
    } == set()
