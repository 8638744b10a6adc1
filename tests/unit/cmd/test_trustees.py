"""The check of the user to whom the owners of stacks and clusters give trusts."""

import pytest
from oslo_config import cfg
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import trustees
from placement_worker.config import options
from placement_worker.errors import ConfigurationError

HEAT = '[trustee]\nusername = {}\n'
SENLIN = '[authentication]\nservice_username = {}\n'


@pytest.fixture
def worker(tmp_path):
    """Return a function that reads the configuration of a worker with some [service_auth]."""

    def read(service_auth):
        file = tmp_path / 'worker.conf'
        file.write_text(f'[service_auth]\nauth_url = http://keystone\n{service_auth}')
        conf = cfg.ConfigOpts()
        options.register(conf)
        conf([], default_config_files=[str(file)], default_config_dirs=[])
        return conf

    return read


@pytest.fixture
def engine(tmp_path):
    """Return a function that writes the configuration of an engine, and returns its path."""

    def write(name, text):
        file = tmp_path / name
        file.write_text(text)
        return str(file)

    return write


@pytest.fixture
def conf(worker):
    return worker('auth_type = password\nusername = common\n')


def test_common_user_of_two_engines_passes(conf, engine):
    """Workers can serve two engines whose trustee is their service user."""
    files = [
        engine('heat.conf', HEAT.format('common')), engine('senlin.conf', SENLIN.format('common')),
    ]  # fmt: skip

    result = trustees.check(conf, files)

    assert (result.code, result.details) == (
        Code.SUCCESS, 'User common is the trustee of each engine',
    )  # fmt: skip


def test_other_trustee_of_one_engine_fails_with_both_users(conf, engine):
    """The failure names the file, the option and both users, and no other engine."""
    heat = engine('heat.conf', HEAT.format('heat'))
    senlin = engine('senlin.conf', SENLIN.format('common'))

    result = trustees.check(conf, [heat, senlin])

    assert result.code == Code.FAILURE
    assert result.details.startswith(
        f'[service_auth] username is common, but {heat}: [trustee] username is heat. A trust'
    )


def test_user_in_the_section_of_auth_section_is_compared(worker, engine):
    """The service user may be in another section, which `auth_section` names."""
    conf = worker(
        'auth_section = keystone\n[keystone]\nauth_url = http://keystone\nauth_type = password\n'
        'username = heat\n'
    )

    result = trustees.check(conf, [engine('heat.conf', HEAT.format('heat'))])

    assert result.code == Code.SUCCESS


def test_service_user_without_a_name_is_a_warning(worker, engine):
    """A user that is given by its id cannot be compared."""
    conf = worker('auth_type = password\nuser_id = 5\n')

    result = trustees.check(conf, [engine('heat.conf', HEAT.format('heat'))])

    assert result.code == Code.WARNING
    assert 'has no username' in result.details


def test_file_without_a_trustee_is_refused(conf, engine):
    """A file of another program is refused with the names of the options."""
    file = engine('nova.conf', '[DEFAULT]\n')

    with pytest.raises(ConfigurationError, match=r'neither \[trustee\] username nor'):
        trustees.check(conf, [file])


def test_missing_file_is_refused(conf, tmp_path):
    """A file that does not exist is refused by its path."""
    with pytest.raises(cfg.ConfigFilesNotFoundError, match=r'none\.conf'):
        trustees.check(conf, [str(tmp_path / 'none.conf')])
