"""The parts of the upgrade check that need no broker; with one: tests/functional/test_health.py."""

from importlib import metadata

import pytest
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import upgrade

REQUIREMENTS = ['oslo.messaging<19,>=18.2', 'kombu>=5.5', 'pytest>=99; extra == "test"']


@pytest.mark.parametrize(
    ('versions', 'found'),
    [
        ({'oslo.messaging': '18.3.1', 'kombu': '5.7.0'}, []),
        ({'oslo.messaging': '18.2.0', 'kombu': '5.7.0rc1'}, []),
        (
            {'oslo.messaging': '18.1.0', 'kombu': '5.7.0'},
            ['oslo.messaging 18.1.0 is installed, needed is <19,>=18.2'],
        ),
        (
            {'oslo.messaging': '19.0.0', 'kombu': '5.4'},
            ['oslo.messaging 19.0.0 is installed, needed is <19,>=18.2', 'kombu 5.4 is installed, needed is >=5.5'],
        ),
        ({'kombu': '5.5'}, ['oslo.messaging is not installed, needed is <19,>=18.2']),
    ],
)
def test_libraries_that_are_not_as_the_package_asks_for_are_named(versions, found):
    def installed(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    assert upgrade.unfit(REQUIREMENTS, installed) == found


def test_what_the_package_asks_for_is_installed_here_and_holds_oslo_messaging():
    requirements = metadata.requires('placement-worker')

    assert [one for one in requirements if one.startswith('oslo.messaging<19,>=18.2')]
    assert upgrade.unfit(requirements, metadata.version) == []


@pytest.mark.parametrize(
    ('version', 'code', 'words'),
    [
        ('3.10.8', Code.SUCCESS, 'RabbitMQ 3.10.8'),
        ('4.1.0+rc.2', Code.SUCCESS, 'RabbitMQ 4.1.0'),
        ('3.9.29', Code.FAILURE, 'RabbitMQ 3.9.29; 3.10 or newer is needed'),
        ('', Code.WARNING, 'does not tell its version'),
    ],
)
def test_a_broker_that_is_too_old_is_told(version, code, words):
    result = upgrade.broker_version(version)

    assert result.code == code
    assert words in result.details
