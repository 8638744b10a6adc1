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
def test_libraries_that_are_not_as_the_package_asks_for_are_named(versions, found):
    def installed(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    assert upgrade.unmet(REQUIREMENTS, installed) == found


def test_what_the_package_asks_for_is_installed_here_and_holds_oslo_messaging():
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
def test_a_broker_that_is_too_old_is_told(version, code, words):
    result = upgrade.broker_version(version)

    assert result.code == code
    assert words in result.details


def unread(tmp_path, text):
    (tmp_path / 'w.conf').write_text(text)
    return unknown_options.found([str(tmp_path / 'w.conf')])


def test_sections_and_options_that_nobody_reads_are_named_with_what_was_meant(tmp_path):
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


def test_whatever_an_installed_library_lists_is_no_stray_by_any_of_its_names(tmp_path):
    text = (
        '[DEFAULT]\nlog-file = x\nlogfile = x\ngraceful_shutdown_timeout = 900\nexecutor_thread_pool_size = 3\n'
        '[oslo_messaging_rabbit]\nssl = true\n[oslo_messaging_tracing]\n'
        'tracing_enabled = true\n[oslo_messaging_notifications]\ndriver = noop\n[oslo_reports]\nlog_dir = /x\n'
        '[service_auth]\nauth_section = mine\nanything = y\n[mine]\nauth_url = x\n'
    )

    assert unread(tmp_path, text) == []


@pytest.mark.parametrize('sample', ['placement-worker.conf.sample', 'bus.conf.sample'])
def test_the_samples_hold_no_strays_when_their_options_are_set(tmp_path, sample):
    text = (Path(__file__).parents[3] / 'conf' / sample).read_text()

    assert unread(tmp_path, re.sub(r'^#(?=[a-z_]+ = )', '', text, flags=re.MULTILINE)) == []
