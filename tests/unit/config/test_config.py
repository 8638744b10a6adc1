"""The registration of options, and texts about configurations."""

import subprocess
import sys

import pytest
from oslo_config import cfg

from placement_worker import config
from tests.config_files import Options, default_options

PROGRAM = (
    'import sys; import placement_worker.config; '
    'names = [name for name in sys.modules if name.startswith("placement_worker.")]; '
    'print(*sorted({name.split(".")[1] for name in names}))'
)


def test_import_loads_no_other_package_than_contract_errors_and_formats():
    """A program that only reads options, such as oslo-config-generator, loads nothing else."""
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', PROGRAM], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) <= {'config', 'contract', 'errors', 'formats'}


def test_register_makes_every_group_known():
    """The options of each group have their defaults."""
    conf = default_options()

    assert conf.worker.topic == 'placement-worker'
    assert conf.cloud.backend == 'openstack'
    assert conf.load_balancer.batch_members
    assert conf.metrics.port is None
    assert conf.decision_log.file is None


def test_list_opts_names_every_group_once():
    """The sample has all options, those of the service user included."""
    groups = [group for group, _ in config.list_opts()]

    assert groups == [
        'worker', 'cloud', 'load_balancer', 'placement', 'metrics', 'decision_log', 'service_auth'
    ]  # fmt: skip


@pytest.mark.parametrize('group', [group for group, _ in config.list_opts()])
def test_every_option_has_a_help_text(group):
    """The sample and the manual describe each option."""
    for option in dict(config.list_opts())[group]:
        assert option.help, option.name


@pytest.mark.parametrize(
    ('exc', 'text'),
    [
        (cfg.ConfigFilesNotFoundError(['a', 'b']), 'a, b: no such file; check --config-file'),
        (
            cfg.ConfigFilesPermissionDeniedError(['a']),
            'a: permission denied; let the user of the worker read it',
        ),
        (ValueError("x from LocationInfo(location=<L.user: 4>, detail='a.conf')"), 'x from a.conf'),
        (
            ValueError("Failed to parse a b.conf: at a b.conf:6, No '=' found: 'x'"),
            "Failed to parse a b.conf, line 6: No '=' found: 'x'",
        ),
        (
            ValueError("x: invalid literal for int() with base 10: 'many'"),
            "x: expected a number, got 'many'",
        ),
        (
            ValueError("x: could not convert string to float: 'many'"),
            "x: expected a number, got 'many'",
        ),
    ],
)
def test_describe_error_names_files_without_python(exc, text):
    """An operator reads the name of the file and what to do."""
    assert config.describe_error(exc) == text


def test_sources_without_a_file_names_the_option():
    """A worker that was started without a file says how to name one."""
    conf = Options()
    conf([])

    assert config.sources(conf) == ('no configuration file was read; --config-file FILE names one')


def test_sources_lists_the_files(tmp_path):
    """A worker that cannot start names the files that it read."""
    (tmp_path / 'a.conf').touch()
    conf = Options()
    conf(['--config-file', str(tmp_path / 'a.conf')])

    assert config.sources(conf) == f'read: {tmp_path}/a.conf'
