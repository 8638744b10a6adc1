"""The parts of the upgrade check that need no broker; with one: tests/functional/test_health.py."""

import re
from importlib import metadata
from pathlib import Path

import pytest
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import upgrade
from placement_worker.config import unknown_options

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
    ],
)
def test_broker_version_too_old_is_a_failure(version, code, words):
    """An old broker is a failure, and an unknown version is a warning."""
    result = upgrade.broker_version(version)

    assert result.code == code
    assert words in result.details


def unread(tmp_path, text):
    (tmp_path / 'w.conf').write_text(text)
    return unknown_options.found([str(tmp_path / 'w.conf')])


def test_found_with_unknown_options_suggests_similar_ones(tmp_path):
    """Unknown sections and options are reported with a similar known name."""
    text = (
        '[DEFAULT]\ntransport_uri = rabbit://x/\ndebug = true\n[clod]\nbackend = inventory\n'
        '[cloud]\ninventory_fil = c.yaml\nbackend = inventory\n[nonsense]\na = 1\n'
    )

    assert unread(tmp_path, text) == [
        '[DEFAULT] transport_uri (did you mean transport_url?)',
        '[clod] (did you mean cloud?)',
        '[cloud] inventory_fil (did you mean inventory_file?)',
        '[nonsense]',
    ]


def test_found_with_options_of_installed_libraries_is_empty(tmp_path):
    """Options of installed libraries are known by each of their names."""
    text = (
        '[DEFAULT]\nlog-file = x\nlogfile = x\ngraceful_shutdown_timeout = '
        '900\nexecutor_thread_pool_size = 3\n'
        '[oslo_messaging_rabbit]\nssl = true\n[oslo_messaging_tracing]\n'
        'tracing_enabled = true\n[oslo_messaging_notifications]\ndriver = '
        'noop\n[oslo_reports]\nlog_dir = /x\n'
        '[service_auth]\nauth_section = mine\nanything = y\n[mine]\nauth_url = x\n'
    )

    assert unread(tmp_path, text) == []


@pytest.mark.parametrize('sample', ['placement-worker.conf.sample', 'bus.conf.sample'])
def test_found_in_the_samples_with_all_options_set_is_empty(tmp_path, sample):
    """The sample configurations contain no unknown option."""
    text = (Path(__file__).parents[3] / 'conf' / sample).read_text()

    assert unread(tmp_path, re.sub(r'^#(?=[a-z_]+ = )', '', text, flags=re.MULTILINE)) == []
