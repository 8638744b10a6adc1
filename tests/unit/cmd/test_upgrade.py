"""The parts of the upgrade check that need no broker; with one: tests/functional/test_health.py."""

import os
import pwd
import re
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_log import log
from oslo_messaging._drivers.impl_rabbit import rabbit_opts
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import upgrade
from placement_worker.config import options
from placement_worker.errors import ConfigurationError
from placement_worker.policies import plugin_checks
from placement_worker.worker import startup
from tests.config_files import Options
from tests.unit.policies.good_policy import Good

ROOT = Path(__file__).parents[3]
CLOUD = f'inventory_file = {ROOT / "examples" / "cloud.yaml"}\n'


@pytest.fixture
def checks(tmp_path):
    """Return a function that returns the checks of a configuration; {folder} is a folder in it."""

    def of(text, engine_files=()):
        conf = Options()
        options.register(conf)
        options.set_defaults()
        log.register_options(conf)
        # oslo.messaging 18.3 registers these with the global options alone, 18.2 has none.
        tracing = [cfg.BoolOpt('tracing_enabled'), cfg.StrOpt('otlp_protocol', default='grpc')]
        conf.register_opts(tracing, group=startup.TRACING)
        file = tmp_path / 'w.conf'
        file.write_text(text.replace('{folder}', str(tmp_path)))
        conf([], default_config_files=[str(file)], default_config_dirs=[])
        return upgrade.Checks(conf, engine_files)

    return of


@pytest.mark.parametrize('url', ['rabbit://guest:guest@127.0.0.1:1/', 'amqps://guest:guest@h/'])
def test_checks_after_a_failed_broker_are_not_run(checks, url):
    """One failure is reported once."""
    checked = checks(f'[DEFAULT]\ntransport_url = {url}\n[cloud]\nbackend = inventory\n{CLOUD}')

    assert checked.result('Configuration').code == Code.SUCCESS
    assert checked.result('Broker').code == Code.FAILURE
    for name in ('Exchange and queues', 'Notifications'):
        other, text = checked.result(name), 'Not checked: the check of the broker failed'
        assert (other.code, other.details) == (Code.WARNING, text)


@pytest.mark.parametrize(
    ('text', 'check', 'words'),
    [
        ('[oslo_messaging_tracing]\ntracing_enabled = 1\n', 'Libraries', 'tracing_enabled needs '),
        ('[DEFAULT]\nlog_config_append = /nofile\n', 'Configuration',
         'Cannot set up the log: /nofile: No such file'),
        ('[metrics]\nport = 9100\naddress = 192.0.2.1\n', 'Metrics',
         '[metrics] address 192.0.2.1 and port 9100 cannot be used: '),
    ],
)  # fmt: skip
def test_checks_find_what_a_start_refuses(checks, monkeypatch, text, check, words):
    """The result of the check before an upgrade is that of the start after it."""
    monkeypatch.setitem(sys.modules, 'opentelemetry.sdk.trace', None)

    result = checks(text).result(check)

    assert (result.code, words in result.details) == (Code.FAILURE, True)


def test_checks_of_files_and_ports_leave_them_as_they_are(checks, tmp_path):
    """A decision log that exists is not written, and no port stays open."""
    file = tmp_path / 'decisions.jsonl'
    file.write_text('{{}}\n')
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        checked = checks(f'[metrics]\nport = {port}\n[decision_log]\nfile = {file}\n')
        busy = checked.result('Metrics')
        assert checked.result('Permissions').code == Code.SUCCESS

    free = checked.result('Metrics')
    assert (busy.code, free.code, free.details) == (Code.SUCCESS, Code.SUCCESS, None)
    assert busy.details.startswith(f'Port {port} is in use, ')
    assert file.read_text() == '{{}}\n'
    socket.create_server(('127.0.0.1', port)).close()


def test_policy_type_that_would_be_skipped_is_a_warning(monkeypatch):
    """An operator learns before the upgrade that the new version cannot use a plugin."""
    monkeypatch.setattr(plugin_checks, 'installed', lambda: [('test.good-2.0', Good)])

    result = upgrade.Checks(cfg.ConfigOpts()).result('Policy types')

    assert (result.code, result.details) == (
        Code.WARNING,
        'test.good-2.0: its class defines test.good, so its entry points must be named '
        'test.good-1.0',
    )


def test_text_that_an_import_prints_goes_to_standard_error(monkeypatch, registry, capsys):
    """A program can parse the result as JSON whatever a plugin prints."""

    def installed():
        print('text of an import')
        return registry.types.items()

    monkeypatch.setattr(plugin_checks, 'installed', installed)

    assert upgrade.Checks(cfg.ConfigOpts()).result('Policy types').code == Code.SUCCESS
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


def test_a_folder_that_the_unit_creates_is_a_warning(checks, tmp_path, monkeypatch):
    """/run/placement-worker does not exist before the first start."""
    monkeypatch.setattr(upgrade, 'UNIT_FOLDERS', (str(tmp_path / 'run'),))

    result = checks(
        '[DEFAULT]\nlog_file = {folder}/run/log\n'
        '[metrics]\nport = 9100\nfolder = {folder}/run/metrics\n'
    ).result('Permissions')

    ending = f'folder {tmp_path}/run does not exist; placement-worker.service creates it'
    assert (result.code, result.details) == (
        Code.WARNING,
        f'[DEFAULT] log_file: {ending}; [metrics] folder: {ending}',
    )


def test_folders_that_the_unit_creates_are_those_of_the_check():
    """The check excuses a missing folder only if the unit creates it."""
    unit = (ROOT / 'conf' / 'placement-worker.service').read_text()
    created = dict(re.findall('(RuntimeDirectory|LogsDirectory)=(.+)', unit))

    folders = (f'/run/{created["RuntimeDirectory"]}', f'/var/log/{created["LogsDirectory"]}')
    assert folders == upgrade.UNIT_FOLDERS


PASSED = f'Checked the permissions of user {upgrade._own_name()}$'


@pytest.mark.parametrize(
    ('text', 'code', 'details'),
    [
        ('', 0, PASSED),
        ('[DEFAULT]\nlog_file = w.log\nlog_dir = {folder}\n', 0, PASSED),
        ('[worker]\nliveness_file = {folder}/liveness\n', 0, PASSED),
        ('[decision_log]\nfile = {folder}/d.jsonl\n', 0, PASSED),
        ('[metrics]\nport = 9100\nfolder = {folder}/metrics\n', 0, PASSED),
        ('[metrics]\nport = 9100\nfolder = {folder}/a/b/c\n', 0, PASSED),
        ('[decision_log]\nfile = {folder}/no/such/d\n', 2, r'\[decision_log\] file: folder '),
        ('[DEFAULT]\nlog_file = {folder}/no/log\n', 2, r'\[DEFAULT\] log_file: folder '),
        ('[DEFAULT]\nlog_dir = {folder}/no\n', 2, r'\[DEFAULT\] log_dir: folder '),
        ('[worker]\nliveness_file = {folder}/no/f\n', 1, r'\[worker\] liveness_file: folder '),
        ('[oslo_reports]\nlog_dir = {folder}/no\n', 1, r'\[oslo_reports\] log_dir: folder '),
        ('[decision_log]\nfile = {folder}/no/d\n[worker]\nliveness_file = {folder}/no/f\n', 2,
         r'\[decision_log\] file: folder .*; \[worker\] liveness_file: folder '),
        ('[DEFAULT]\nlog_file = {folder}\n', 2, r'\[DEFAULT\] log_file: \S+ is a folder; name a'),
        ('[decision_log]\nfile = {folder}\n', 2, r'\[decision_log\] file: \S+ is a folder; name a'),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written_fails_if_a_start_needs_it(checks, text, code, details):
    """The status is 2 if the worker does not start, and 1 if it starts without the files."""
    result = checks(text).result('Permissions')

    assert result.code == Code(code)
    assert re.match(details, result.details)
    assert (' does not exist, or user ' in result.details) is ('folder ' in details)


def test_the_permissions_of_an_unknown_user_cannot_be_judged():
    """A slip in --user is an error, not a check as root."""
    with pytest.raises(ConfigurationError, match=r"Unknown user 'no\\x1bbody'; correct --user"):
        upgrade.become_user('no\x1bbody')


def test_the_own_user_needs_no_rights_of_root():
    """An unprivileged user may name itself in --user."""
    before = os.getresuid()

    upgrade.become_user(pwd.getpwuid(os.geteuid()).pw_name)

    assert os.getresuid() == before


PASSWORD = 'auth_type = password\nusername = common\n'
OTHER_SECTION = f'auth_section = keystone\n[keystone]\nauth_url = http://keystone\n{PASSWORD}'
HEAT = '[trustee]\nusername = common\n'
OTHER_HEAT = '[trustee]\nusername = heat\n'
SENLIN = '[authentication]\nservice_username = common\n'


@pytest.mark.parametrize(
    ('service_auth', 'engines', 'code', 'words'),
    [
        (PASSWORD, [HEAT, SENLIN], Code.SUCCESS, 'User common is the trustee of each engine'),
        (OTHER_SECTION, [HEAT], Code.SUCCESS, 'User common is the trustee of each engine'),
        (PASSWORD, [OTHER_HEAT, SENLIN], Code.FAILURE,
         '[service_auth] username is common, but FOLDER/engine0: [trustee] username is heat. '
         'A trust'),
        ('auth_type = password\nuser_id = 5\n', [HEAT], Code.WARNING, 'has no username'),
        (PASSWORD, ['[DEFAULT]\n'], Code.FAILURE, 'neither [trustee] username nor'),
        (PASSWORD, [None], Code.FAILURE, 'FOLDER/engine0'),
    ],
)  # fmt: skip
def test_trustee_other_than_the_service_user_fails_with_both_users(
    checks, tmp_path, service_auth, engines, code, words
):
    """Workers can serve engines whose trustee is their service user; an id is not compared."""
    files = [tmp_path / f'engine{number}' for number in range(len(engines))]
    for file, text in zip(files, engines, strict=True):
        if text is not None:
            file.write_text(text)
    text = f'[service_auth]\nauth_url = http://keystone\n{service_auth}'

    result = checks(text, list(map(str, files))).result('Trustee')

    assert result.code == code
    assert words.replace('FOLDER', str(tmp_path)) in result.details
    assert 'engine1' not in result.details


REQUIREMENTS = ['oslo.messaging<19,>=17.1', 'kombu>=5.5', 'amqp', 'pytest>=99; extra == "test"']


@pytest.mark.parametrize(
    ('present', 'found'),
    [
        ({'oslo.messaging': '18.3.1', 'kombu': '5.7.0', 'amqp': '5'}, []),
        ({'oslo.messaging': '17.1.0', 'kombu': '5.7.0rc1', 'amqp': '5'}, []),
        ({'oslo.messaging': '19.0.0', 'kombu': '5.4', 'amqp': '5'},
         ['oslo.messaging 19.0.0 is installed; <19,>=17.1 is required',
          'kombu 5.4 is installed; >=5.5 is required']),
        ({'kombu': '5.5'},
         ['oslo.messaging is missing; <19,>=17.1 is required', 'amqp is missing']),
    ],
)  # fmt: skip
def test_unmet_with_other_versions_names_them(present, found):
    """A missing library or a wrong version is reported with the required version, if any."""

    def installed(name):
        if name not in present:
            raise metadata.PackageNotFoundError(name)
        return present[name]

    assert upgrade.unmet_requirements(REQUIREMENTS, installed) == found


@pytest.mark.parametrize(
    ('version', 'kind', 'words'),
    [
        ('3.9.29', ConfigurationError, 'RabbitMQ 3.9.29; 3.10 or newer is required'),
        ('', upgrade.Concern, 'reports no version; RabbitMQ 3.10 or newer is required'),
        ('4.1.1.dirty\x1b', upgrade.Concern, r'reports the unknown version 4.1.1.dirty\u001b;'),
    ],
)
def test_broker_too_old_is_a_failure(version, kind, words):
    """An old broker is a failure, and an unknown version is a warning."""
    with pytest.raises(kind, match=re.escape(words)):
        upgrade.check_broker_version(version)
    for recent in ('3.10.8', '4.1.0+rc.2'):
        assert upgrade.check_broker_version(recent) == f'RabbitMQ {recent}'
    assert 'consumer-disconnected-timeout' in upgrade.check_broker_version('4.3.0')


HOSTNAME_OPTION = 'ssl_enforce_hostname_verification'


@pytest.fixture
def unknown_options(tmp_path):
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
        ('[DEFAULT]\ntransport_uri = rabbit://x/\ndebug = true\n[clod]\nbackend = inventory\n'
         '[cloud]\ninventory_fil = c.yaml\nbackend = inventory\n[nonsense]\na = 1\n',
         ['Unknown option [DEFAULT] transport_uri (did you mean transport_url?)',
          'Unknown section [clod] (did you mean cloud?)',
          'Unknown option [cloud] inventory_fil (did you mean inventory_file?)',
          'Unknown section [nonsense]']),
        ('[default]\ndebug = true\n[CLOD]\n[Cloud]\nINVENTORY_FIL = x\n',
         ['Unknown section [default] (did you mean DEFAULT?)',
          'Unknown section [CLOD] (did you mean cloud?)',
          'Unknown option [Cloud] INVENTORY_FIL (did you mean inventory_file?)']),
        ('[DEFAULT]\nmax_deliveries = 3\n[worker]\ninventory-file = x\nworkrs = 1\n',
         ['Unknown option [DEFAULT] max_deliveries (it belongs to [worker])',
          'Unknown option [worker] inventory-file (it belongs to [cloud])',
          'Unknown option [worker] workrs (did you mean workers?)']),
        ('[Service_Auth]\nauth_section = mine\nanything = y\n[Mine]\nx = y\n', []),
        ('[DEFAULT]\nlog-file = x\nlogfile = x\ngraceful_shutdown_timeout = 900\n'
         'executor_thread_pool_size = 3\n[oslo_messaging_rabbit]\nssl = true\n'
         '[oslo_messaging_tracing]\ntracing_enabled = true\n'
         '[oslo_messaging_notifications]\ndriver = noop\n[oslo_reports]\nlog_dir = /x\n'
         '[service_auth]\nauth_section = mine\nanything = y\n[mine]\nauth_url = x\n', []),
    ],
    ids=['misspelled', 'another case', 'another section', 'auth plugins', 'old names'],
)  # fmt: skip
def test_find_names_only_unknown_sections_and_options_with_the_nearest_name(
    unknown_options, text, expected
):
    """An operator reads which option is misspelled or misplaced, and gets no false alarm."""
    assert unknown_options(text) == expected


@pytest.mark.parametrize('sample', ['placement-worker.conf.sample', 'bus.conf.sample'])
def test_find_in_a_sample_is_nothing(unknown_options, sample):
    """Every option of the samples can be set."""
    text = re.sub(r'^#(?=[a-z_]+ = )', '', (ROOT / 'conf' / sample).read_text(), flags=re.MULTILINE)
    if HOSTNAME_OPTION not in {option.name for option in rabbit_opts}:  # oslo.messaging 17
        text = re.sub(rf'^{HOSTNAME_OPTION} = .*$', '', text, flags=re.MULTILINE)

    assert unknown_options(text) == []


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
