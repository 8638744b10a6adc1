"""The parts of the upgrade check that need no broker; with one: tests/functional/test_health.py."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_log import log
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import upgrade
from placement_worker.config import options
from placement_worker.messaging import rpc_server
from placement_worker.policies import plugins
from tests.config_files import Options
from tests.unit.policies.good_policy import Good

CLOUD = f'inventory_file = {Path(__file__).parents[3] / "examples" / "cloud.yaml"}\n'


@pytest.fixture
def checks(tmp_path):
    """Return a function that returns the checks of a configuration."""

    def read(text):
        conf = Options()
        options.register(conf)
        options.set_defaults()
        log.register_options(conf)
        # oslo.messaging 18.3 registers these with the global options alone, 18.2 has none.
        traced = [cfg.BoolOpt('tracing_enabled'), cfg.StrOpt('otlp_protocol', default='grpc')]
        conf.register_opts(traced, group=rpc_server.TRACING)
        file = tmp_path / 'w.conf'
        file.write_text(text)
        conf([], default_config_files=[str(file)])
        return upgrade.Checks(conf)

    return read


@pytest.mark.parametrize('url', ['rabbit://guest:guest@127.0.0.1:1/', 'amqps://guest:guest@h/'])
def test_checks_after_a_failed_broker_are_not_run(checks, url):
    """One failure is reported once."""
    checked = checks(f'[DEFAULT]\ntransport_url = {url}\n[cloud]\nbackend = inventory\n{CLOUD}')

    assert checked.check_configuration().code == Code.SUCCESS
    assert checked.check_broker().code == Code.FAILURE
    for other in (checked.check_queues(), checked.check_notifications()):
        assert (other.code, other.details) == (
            Code.WARNING,
            'Not checked: the check of the broker failed',
        )


@pytest.mark.parametrize(
    ('text', 'check', 'words'),
    [
        (
            '[oslo_messaging_tracing]\ntracing_enabled = true\n',
            'libraries',
            'tracing_enabled needs ',
        ),
        (
            '[DEFAULT]\nlog_config_append = /nofile\n',
            'configuration',
            'Cannot set up the log: /nofile: No such file',
        ),
        (
            '[decision_log]\nfile = {folder}\n',
            'permissions',
            '[decision_log] file: {folder} is a folder; name a file in it',
        ),
        (
            '[metrics]\nport = 9100\naddress = 192.0.2.1\n',
            'metrics',
            '[metrics] address 192.0.2.1 and port 9100 cannot be used: ',
        ),
    ],
)
def test_checks_find_what_a_start_refuses(checks, tmp_path, monkeypatch, text, check, words):
    """The result of the check before an upgrade is that of the start after it."""
    monkeypatch.setitem(sys.modules, 'opentelemetry.sdk.trace', None)

    result = getattr(checks(text.format(folder=tmp_path)), f'check_{check}')()

    assert result.code == Code.FAILURE
    assert words.format(folder=tmp_path) in result.details


def test_checks_of_files_and_ports_leave_them_as_they_are(checks, tmp_path):
    """A decision log that exists is not written, and no port stays open."""
    file = tmp_path / 'decisions.jsonl'
    file.write_text('{{}}\n')
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        in_use = checks(f'[metrics]\nport = {port}\n[decision_log]\nfile = {file}\n')
        busy = in_use.check_metrics()
        assert in_use.check_permissions().code == Code.SUCCESS

    free = in_use.check_metrics()

    assert (busy.code, free.code) == (Code.SUCCESS, Code.SUCCESS)
    assert busy.details.startswith(f'Port {port} is in use, ')
    assert not free.details
    assert file.read_text() == '{{}}\n'
    socket.create_server(('127.0.0.1', port)).close()


def test_policy_type_that_would_be_skipped_is_a_warning(monkeypatch):
    """An operator learns before the upgrade that the new version cannot use a plugin."""
    monkeypatch.setattr(plugins, 'installed', lambda: [('test.good-2.0', Good)])

    result = upgrade.Checks(cfg.ConfigOpts()).check_policy_types()

    assert (result.code, result.details) == (
        Code.WARNING,
        'test.good-2.0: versions lacks 2.0; add its schema, or remove the entry point',
    )


def test_policy_types_of_this_package_are_a_success(monkeypatch, registry):
    """Without plugins there is nothing to warn of."""
    monkeypatch.setattr(plugins, 'installed', registry.types.items)

    assert upgrade.Checks(cfg.ConfigOpts()).check_policy_types().code == Code.SUCCESS


def test_text_that_an_import_prints_goes_to_standard_error(monkeypatch, registry, capsys):
    """A program can parse the result as JSON whatever a plugin prints."""

    def installed():
        print('text of an import')
        return registry.types.items()

    monkeypatch.setattr(plugins, 'installed', installed)

    upgrade.Checks(cfg.ConfigOpts()).check_policy_types()

    assert capsys.readouterr() == ('', 'text of an import\n')


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
