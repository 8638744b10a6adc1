"""The parts of the upgrade check that need no broker; with one: tests/functional/test_health.py."""

import subprocess
import sys
from importlib import metadata

import pytest
from oslo_config import cfg
from oslo_upgradecheck.upgradecheck import Code

from placement_worker import config
from placement_worker.cmd import upgrade
from placement_worker.policies import plugins
from tests.unit.policies.good_policy import Good

REQUIREMENTS = ['oslo.messaging<19,>=18.2', 'kombu>=5.5', 'pytest>=99; extra == "test"']


@pytest.mark.parametrize(
    ('versions', 'found'),
    [
        ({'oslo.messaging': '18.3.1', 'kombu': '5.7.0'}, []),
        ({'oslo.messaging': '18.2.0', 'kombu': '5.7.0rc1'}, []),
        (
            {'oslo.messaging': '18.1.0', 'kombu': '5.7.0'},
            ['oslo.messaging 18.1.0 is installed; <19,>=18.2 is required'],
        ),
        (
            {'oslo.messaging': '19.0.0', 'kombu': '5.4'},
            [
                'oslo.messaging 19.0.0 is installed; <19,>=18.2 is required',
                'kombu 5.4 is installed; >=5.5 is required',
            ],
        ),
        ({'kombu': '5.5'}, ['oslo.messaging is missing; <19,>=18.2 is required']),
    ],
)
def test_unmet_with_other_versions_names_them(versions, found):
    """A missing library or a wrong version is reported with the required version."""

    def installed(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    assert upgrade.unmet(REQUIREMENTS, installed) == found


def test_unmet_without_a_specifier_names_only_the_library():
    """A missing library of any version is reported without a version."""

    def installed(name):
        raise metadata.PackageNotFoundError(name)

    assert upgrade.unmet(['amqp'], installed) == ['amqp is missing']


def test_unmet_of_this_package_is_empty_here():
    """The requirements of this package bound oslo.messaging and are met here."""
    requirements = metadata.requires('placement-worker')

    assert [one for one in requirements if one.startswith('oslo.messaging<19,>=18.2')]
    assert upgrade.unmet(requirements, metadata.version) == []


@pytest.mark.parametrize(
    ('version', 'code', 'words'),
    [
        ('3.10.8', Code.SUCCESS, 'RabbitMQ 3.10.8'),
        ('4.1.0+rc.2', Code.SUCCESS, 'RabbitMQ 4.1.0'),
        ('3.9.29', Code.FAILURE, 'RabbitMQ 3.9.29; 3.10 or newer is required'),
        ('', Code.WARNING, 'reports no version'),
        ('4.0.0~beta', Code.WARNING, 'reports the unknown version 4.0.0~beta'),
        ('3.x', Code.WARNING, 'reports the unknown version 3.x'),
        ('4.1.1.dirty\x1b', Code.WARNING, r'reports the unknown version 4.1.1.dirty\u001b;'),
    ],
)
def test_broker_version_too_old_is_a_failure(version, code, words):
    """An old broker is a failure, and an unknown version is a warning."""
    result = upgrade.broker_version(version)

    assert result.code == code
    assert words in result.details


def test_queues_of_a_broker_that_cannot_be_reached_are_not_checked(tmp_path):
    """One failure is reported once."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    config.set_defaults()
    file = tmp_path / 'w.conf'
    file.write_text('[DEFAULT]\ntransport_url = rabbit://guest:guest@127.0.0.1:1/\n')
    conf([], default_config_files=[str(file)])
    checks = upgrade.Checks(conf)

    broker, queues = checks.check_broker(), checks.check_queues()

    assert (broker.code, queues.code) == (Code.FAILURE, Code.WARNING)
    assert queues.details == 'Not checked: the check of the broker failed'


def test_policy_type_that_would_be_skipped_is_a_warning(monkeypatch):
    """An operator learns before the upgrade that the new version cannot use a plugin."""
    monkeypatch.setattr(plugins, 'installed', lambda: [('test.good-2.0', Good)])

    result = upgrade.Checks(cfg.ConfigOpts()).check_policy_types()

    assert (result.code, result.details) == (
        Code.WARNING,
        'test.good-2.0: its class defines test.good, so its entry points must be named '
        'test.good-1.0',
    )


def test_policy_types_of_this_package_are_a_success(monkeypatch, registry):
    """Without plugins there is nothing to warn of."""
    monkeypatch.setattr(plugins, 'installed', registry.types.items)

    assert upgrade.Checks(cfg.ConfigOpts()).check_policy_types().code == Code.SUCCESS


def test_upgrade_check_into_a_closed_pipe_ends_without_a_message(tmp_path):
    """The result goes to a program such as head, which may end first."""
    file = tmp_path / 'w.conf'
    file.write_text('[DEFAULT]\ntransport_url = rabbit://guest:guest@127.0.0.1:1/\n')
    program = [sys.executable, '-c', 'from placement_worker.cmd.status import main; exit(main())']
    arguments = ['--config-file', str(file), 'upgrade', 'check']

    with subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        run.stdout.close()
        errors = run.stderr.read()

    assert (run.returncode, 'pipe' in errors.lower()) == (255, False), errors
