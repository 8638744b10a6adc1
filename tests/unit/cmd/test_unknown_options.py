"""The search for unknown options in files and in the environment."""

import re
from pathlib import Path

import pytest
from oslo_messaging._drivers.impl_rabbit import rabbit_opts

from placement_worker.cmd import upgrade
from tests.config_files import Options

CONF = Path(__file__).parents[3] / 'conf'
HOSTNAME_OPTION = 'ssl_enforce_hostname_verification'


@pytest.fixture
def found(tmp_path):
    """Return the unknown options of a text."""

    def find(text):
        (tmp_path / 'w.conf').write_text(text)
        ending = f' in {tmp_path}/w.conf; it has no effect'
        lines = upgrade.find_unknown_options([str(tmp_path / 'w.conf')])
        assert all(line.endswith(ending) for line in lines)
        return [line.removesuffix(ending) for line in lines]

    return find


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (
            '[DEFAULT]\ntransport_uri = rabbit://x/\ndebug = true\n[clod]\nbackend = inventory\n'
            '[cloud]\ninventory_fil = c.yaml\nbackend = inventory\n[nonsense]\na = 1\n',
            [
                'Unknown option [DEFAULT] transport_uri (did you mean transport_url?)',
                'Unknown section [clod] (did you mean cloud?)',
                'Unknown option [cloud] inventory_fil (did you mean inventory_file?)',
                'Unknown section [nonsense]',
            ],
        ),
        (
            '[default]\ndebug = true\n[CLOD]\n[Cloud]\nINVENTORY_FIL = x\n',
            [
                'Unknown section [default] (did you mean DEFAULT?)',
                'Unknown section [CLOD] (did you mean cloud?)',
                'Unknown option [Cloud] INVENTORY_FIL (did you mean inventory_file?)',
            ],
        ),
        ('[Service_Auth]\nauth_section = mine\nanything = y\n[Mine]\nx = y\n', []),
        (
            '[DEFAULT]\nlog-file = x\nlogfile = x\ngraceful_shutdown_timeout = 900\n'
            'executor_thread_pool_size = 3\n[oslo_messaging_rabbit]\nssl = true\n'
            '[oslo_messaging_tracing]\ntracing_enabled = true\n'
            '[oslo_messaging_notifications]\ndriver = noop\n[oslo_reports]\nlog_dir = /x\n'
            '[service_auth]\nauth_section = mine\nanything = y\n[mine]\nauth_url = x\n',
            [],
        ),
    ],
    ids=['misspelled', 'another case', 'auth plugins', 'old names'],
)
def test_find_names_only_unknown_sections_and_options_with_the_nearest_name(found, text, expected):
    """An operator reads which option is misspelled in any case, and gets no false alarm."""
    assert found(text) == expected


@pytest.mark.parametrize('sample', ['placement-worker.conf.sample', 'bus.conf.sample'])
def test_find_in_a_sample_is_nothing(found, sample):
    """Every option of the samples can be set."""
    text = re.sub(r'^#(?=[a-z_]+ = )', '', (CONF / sample).read_text(), flags=re.MULTILINE)
    if HOSTNAME_OPTION not in {option.name for option in rabbit_opts}:  # oslo.messaging 17
        text = re.sub(rf'^{HOSTNAME_OPTION} = .*$', '', text, flags=re.MULTILINE)

    assert found(text) == []


def test_find_in_the_environment_names_misspelled_variables(monkeypatch):
    """oslo.config reads OS_GROUP__OPTION, and ignores a variable that names no option."""
    monkeypatch.setenv('OS_WORKER__WORKRS', '1')
    monkeypatch.setenv('OS_WORKER__WORKERS', '1')
    monkeypatch.setenv('OS_DEFAULT__TRANSPORT_URL', 'rabbit://')
    monkeypatch.setenv('OS_AUTH_URL', 'https://')

    assert upgrade.find_unknown_options([]) == [
        'Unknown option [worker] workrs (did you mean workers?) in the environment; it has no '
        'effect'
    ]


def test_files_are_those_of_config_file_and_config_dir(tmp_path):
    """Options in a folder of files are checked, too."""
    (tmp_path / 'a.conf').touch()
    (tmp_path / 'd').mkdir()
    (tmp_path / 'd' / 'b.conf').touch()
    conf = Options()
    conf(
        ['--config-file', str(tmp_path / 'a.conf'), '--config-dir', str(tmp_path / 'd')],
        default_config_dirs=None,
    )

    assert upgrade.configuration_files(conf) == [f'{tmp_path}/a.conf', f'{tmp_path}/d/b.conf']
