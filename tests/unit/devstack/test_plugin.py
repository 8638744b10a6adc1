"""The phases of the DevStack plugin that need neither a broker nor an installation."""

import re
import stat

import pytest

from placement_worker.config import options, validation
from placement_worker.worker import factory
from tests.config_files import Options
from tests.devstack.host import UNIT, Host, settings_of

SENLIN_FIRST, SENLIN_LAST = ('senlin', 'placement-worker'), ('placement-worker', 'senlin')
BUS = 'rabbit://stackrabbit:rabbit-secret@127.0.0.1:5672/placement'


def configured(tmp_path, plugins, **settings):
    host = Host(tmp_path, plugins, **settings)
    done = host.run('stack', 'pre-install', 'post-config')
    assert done.status == 0, done.stderr
    return host


def test_post_config_without_senlin_writes_bus_cloud_and_a_service_user(tmp_path):
    """A worker without Senlin acts with a service user of its own."""
    host = configured(tmp_path, ['placement-worker'])

    written = settings_of(host.conf)
    assert written['DEFAULT']['transport_url'] == BUS
    assert written['DEFAULT']['debug'] == 'True'
    assert written['cloud'] == {'backend': 'openstack'}
    auth = written['service_auth']
    assert (auth['username'], auth['password']) == ('placement-worker', 'service-secret')
    assert auth['region_name'] == 'RegionOne'
    assert auth['valid_interfaces'] == 'public'
    assert 'interface' not in auth, 'keystoneauth prefers the old option'
    assert host.keystone.read_text() == 'user placement-worker \n'
    assert not host.senlin_conf.exists()


@pytest.mark.parametrize('plugins', [SENLIN_FIRST, SENLIN_LAST])
def test_post_config_with_senlin_in_either_order_shares_the_bus_and_the_trustee(tmp_path, plugins):
    """Senlin finds the workers, and they can act for owners, whichever plugin is enabled first."""
    host = configured(tmp_path, plugins)

    written = settings_of(host.senlin_conf)
    assert written['placement_worker'] == {'transport_url': BUS}
    # Senlin's own bus stays where it is.
    assert written['DEFAULT']['transport_url'].endswith(':5672/')
    assert settings_of(host.conf)['service_auth']['username'] == 'senlin'
    assert 'placement-worker' not in host.keystone.read_text()


@pytest.mark.parametrize('backend', ['openstack', 'inventory'])
def test_post_config_writes_options_with_which_a_worker_can_start(tmp_path, backend):
    """The written configuration passes the validation."""
    host = configured(tmp_path, ['placement-worker'], PLACEMENT_WORKER_CLOUD_BACKEND=backend)
    conf = Options()
    options.register(conf)

    conf(['--config-file', str(host.conf)], project='placement-worker')
    validation.validate_options(conf)
    factory.create_clouds(conf)

    assert conf.cloud.backend == backend


def test_post_config_again_replaces_a_file_that_its_owner_alone_can_read(tmp_path):
    """A second stack keeps no options of the first one, and other users read no password."""
    host = configured(tmp_path, ['placement-worker'])
    assert stat.S_IMODE(host.conf.stat().st_mode) == 0o600
    assert stat.S_IMODE(host.conf.parent.stat().st_mode) == 0o750
    first = host.conf.read_text()
    host.conf.write_text(f'{first}\n[worker]\nworkers = 3\n')

    host.run('stack', 'post-config')

    assert host.conf.read_text() == first


def test_post_config_with_the_inventory_backend_names_an_existing_file(tmp_path):
    """The embedded cloud works without further settings."""
    host = configured(tmp_path, ['placement-worker'], PLACEMENT_WORKER_CLOUD_BACKEND='inventory')

    file = host.dest / 'placement-worker' / 'examples' / 'cloud.yaml'
    assert settings_of(host.conf)['cloud'] == {'backend': 'inventory', 'inventory_file': str(file)}
    assert file.exists()


@pytest.mark.parametrize('script', ['stack', 'unstack', 'clean'])
def test_phases_of_a_disabled_service_change_nothing(tmp_path, script):
    """A disabled plugin writes neither files nor units."""
    host = Host(tmp_path, ['placement-worker'], DISABLED_SERVICES='placement-worker')

    done = host.run(script)

    assert done.status == 0, done.stderr
    assert list(host.etc.iterdir()) == []
    assert list(host.units.iterdir()) == []


def test_post_config_without_rabbitmq_fails_with_advice(tmp_path):
    """The error names the service and the setting to enable."""
    host = Host(tmp_path, ['placement-worker'], RABBIT_HOST='')

    done = host.run('stack', 'post-config')

    error = '[ERROR] placement-worker needs RabbitMQ: enable_service rabbit, or set RABBIT_HOST'
    assert done.status == 1
    assert error in done.stderr


def test_extra_with_a_worker_that_does_not_answer_fails_and_names_its_journal(tmp_path):
    """The stack ends with the command that shows the cause."""
    host = Host(tmp_path, ['placement-worker'], SERVICE_TIMEOUT=1)
    (host.venv / 'bin').mkdir(parents=True)
    (host.venv / 'bin' / 'placement-worker').symlink_to('/bin/true')
    (host.venv / 'bin' / 'placement-policy').symlink_to('/bin/false')

    done = host.run('stack', 'post-config', 'extra')

    error = f'[ERROR] placement-worker did not answer: journalctl --unit {UNIT} says why'
    assert done.status == 1
    assert error in done.stderr


@pytest.mark.parametrize(('status', 'ends'), [(0, 0), (1, 0), (2, 1)])
def test_test_config_fails_with_the_upgrade_check_but_not_with_its_warnings(tmp_path, status, ends):
    """A warning of the upgrade check does not end the stack."""
    host = Host(tmp_path, ['placement-worker'])
    (host.venv / 'bin').mkdir(parents=True)
    program = host.venv / 'bin' / 'placement-worker-status'
    program.write_text(f'#!/bin/sh\nexit {status}\n')
    program.chmod(0o755)

    assert host.run('stack', 'test-config').status == ends


def test_clean_without_a_broker_removes_the_configuration(tmp_path):
    """An uninstalled broker does not prevent the cleanup."""
    host = Host(tmp_path, ['placement-worker'], ENABLED_SERVICES='rabbit')
    host.put('rabbitmqctl', '#!/bin/sh\nexit 69\n')
    host.conf.parent.mkdir()
    host.conf.touch()

    assert host.run('clean').status == 0
    assert not host.conf.parent.exists()


def test_plugin_defines_only_names_with_its_own_prefix(tmp_path):
    """The plugin does not overwrite variables or functions of other plugins."""
    host = configured(tmp_path, SENLIN_FIRST)

    own = {name for name in host.new_names() if 'SENLIN' not in name or 'placement_worker' in name}
    assert own
    assert all(re.search('PLACEMENT_WORKER|placement_worker', name) for name in own)
