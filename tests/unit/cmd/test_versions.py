"""The versions of the broker and of the installed libraries."""

from importlib import metadata

import pytest
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import versions

REQUIREMENTS = ['oslo.messaging<19,>=17.1', 'kombu>=5.5', 'pytest>=99; extra == "test"']


@pytest.mark.parametrize(
    ('present', 'found'),
    [
        ({'oslo.messaging': '18.3.1', 'kombu': '5.7.0'}, []),
        ({'oslo.messaging': '17.1.0', 'kombu': '5.7.0rc1'}, []),
        (
            {'oslo.messaging': '17.0.0', 'kombu': '5.7.0'},
            ['oslo.messaging 17.0.0 is installed; <19,>=17.1 is required'],
        ),
        (
            {'oslo.messaging': '19.0.0', 'kombu': '5.4'},
            [
                'oslo.messaging 19.0.0 is installed; <19,>=17.1 is required',
                'kombu 5.4 is installed; >=5.5 is required',
            ],
        ),
        ({'kombu': '5.5'}, ['oslo.messaging is missing; <19,>=17.1 is required']),
    ],
)
def test_unmet_with_other_versions_names_them(present, found):
    """A missing library or a wrong version is reported with the required version."""

    def installed(name):
        if name not in present:
            raise metadata.PackageNotFoundError(name)
        return present[name]

    assert versions.unmet(REQUIREMENTS, installed) == found


def test_unmet_without_a_specifier_names_only_the_library():
    """A missing library of any version is reported without a version."""

    def installed(name):
        raise metadata.PackageNotFoundError(name)

    assert versions.unmet(['amqp'], installed) == ['amqp is missing']


def test_unmet_of_this_package_is_empty_here():
    """The requirements of this package bound oslo.messaging and are met here."""
    requirements = metadata.requires('placement-worker')

    assert [one for one in requirements if one.startswith('oslo.messaging<19,>=17.1')]
    assert versions.unmet(requirements, metadata.version) == []


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
def test_of_broker_too_old_is_a_failure(version, code, words):
    """An old broker is a failure, and an unknown version is a warning."""
    result = versions.of_broker(version)

    assert result.code == code
    assert words in result.details
