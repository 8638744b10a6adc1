"""The systemd unit, the container file, the chart, the role and the jobs of CI, as files."""

import configparser
import json
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from oslo_config import cfg

from placement_worker.cmd import upgrade
from placement_worker.config import options

ROOT = Path(__file__).parents[2]
UNIT = ROOT / 'conf' / 'placement-worker.service'
CHART = ROOT / 'deploy' / 'helm' / 'placement-worker'
ROLE = ROOT / 'deploy' / 'kolla-ansible' / 'roles' / 'placement-worker'
MANUAL = (ROOT / 'doc' / 'source' / 'health.rst').read_text()
STATEFUL_SET = (CHART / 'templates' / 'statefulset.yaml').read_text()
CONFIGURATION = ['--config-file', '/etc/placement-worker/placement-worker.conf']


@pytest.fixture
def service():
    parser = configparser.RawConfigParser()
    parser.read(UNIT)
    return parser['Service']


@pytest.fixture
def instructions():
    """The instructions of the last stage of the image, with their last arguments."""
    text = (ROOT / 'Containerfile').read_text().rpartition('\nFROM ')[2].replace('\\\n', ' ')
    return {
        name: ' '.join(arguments)
        for name, *arguments in (line.split() for line in text.splitlines()[1:] if line)
    }


@pytest.fixture
def role():
    """The default variables of the role for kolla-ansible."""
    return yaml.safe_load((ROLE / 'defaults' / 'main.yml').read_text())


def scripts():
    return {entry.name for entry in metadata.distribution('placement-worker').entry_points}


def of_environment():
    """Return the configuration of a worker that has only environment variables."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([], project='placement-worker', default_config_files=[])
    return conf


@pytest.mark.skipif(not shutil.which('systemd-analyze'), reason='systemd is not installed')
def test_unit_passes_the_verification_of_systemd(tmp_path):
    """systemd accepts the unit without a warning."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace('/usr/bin/placement-worker ', f'{sys.executable} '))

    done = subprocess.run(
        ['systemd-analyze', 'verify', unit], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, '')


def test_unit_has_every_line_of_the_manual():
    """The manual quotes the unit correctly."""
    block = MANUAL.split('    [Service]\n')[1].split('\n\n')[0]
    lines = [line.strip() for line in block.splitlines()]

    assert 'Type=notify' in lines
    assert set(lines) - set(UNIT.read_text().splitlines()) == set()


def test_supervisors_wait_longer_than_the_graceful_shutdown(service, role):
    """No supervisor of a worker kills it while it finishes its requests."""
    values = yaml.safe_load((CHART / 'values.yaml').read_text())
    limits = (
        int(service['timeoutstopsec']),
        values['terminationGracePeriodSeconds'],
        role['placement_worker_stop_timeout'],
    )

    assert min(limits) > options.GRACEFUL_SHUTDOWN_TIMEOUT_S


def test_unit_runs_the_command_as_its_own_user(service):
    """The service does not run as root."""
    command, *arguments = service['execstart'].split()

    assert Path(command).name in scripts()
    assert arguments == CONFIGURATION
    assert service['user'] == service['group'] == 'placement-worker'


def test_image_runs_the_command_without_a_shell_and_not_as_root(instructions):
    """Signals reach the worker, which has no rights of root."""
    (command,) = json.loads(instructions['ENTRYPOINT'])

    assert command in scripts()
    assert json.loads(instructions['CMD']) == CONFIGURATION
    assert re.fullmatch(r'[1-9]\d*:[1-9]\d*', instructions['USER'])
    assert instructions['STOPSIGNAL'] == 'SIGTERM'


def test_image_checks_the_liveness_file_that_its_worker_writes(instructions, monkeypatch):
    """The health check and the worker agree on the file."""
    command, *arguments = json.loads(instructions['HEALTHCHECK'].partition(' CMD ')[2])
    name, file = re.search(r'(OS_\w+)=(\S+)', instructions['ENV']).groups()
    monkeypatch.setenv(name, file)

    assert command in scripts()
    assert arguments == ['liveness', '--file', file]
    assert of_environment().worker.liveness_file == file


def test_chart_fits_the_image_and_the_package(instructions):
    """The chart runs the user of the image, and its version is that of the package."""
    chart = yaml.safe_load((CHART / 'Chart.yaml').read_text())
    user, _, group = instructions['USER'].partition(':')

    assert chart['version'] == chart['appVersion'] == metadata.version('placement-worker')
    assert f'runAsUser: {user}\n' in STATEFUL_SET
    assert f'runAsGroup: {group}\n' in STATEFUL_SET
    assert f'mountPath: {Path(CONFIGURATION[1]).parent},' in STATEFUL_SET


def test_environment_of_the_chart_sets_options_of_the_worker(monkeypatch):
    """The variables open the port of the metrics to Prometheus, and name the cordon file."""
    values = ('9736', '0.0.0.0', '/etc/cordons.yaml')  # noqa: S104
    for name, value in zip(re.findall(r'name: (OS_\w+)', STATEFUL_SET), values, strict=True):
        monkeypatch.setenv(name, value)

    conf = of_environment()

    assert (conf.metrics.port, conf.metrics.address) == (9736, '0.0.0.0')  # noqa: S104
    assert conf.placement.cordon_file == '/etc/cordons.yaml'


def test_probes_of_the_chart_are_those_of_the_manual():
    """The chart runs the commands that the manual describes."""

    commands = re.findall(r'exec: .*', STATEFUL_SET)
    assert len(commands) == 3
    assert commands == re.findall(r'exec: .*', MANUAL)


def test_role_fits_the_image_and_the_package(instructions, role):
    """The role deploys the image of this version, whose group may read the configuration.

    kolla-ansible 22 fails on a container whose image has no label.
    """
    (check,) = re.findall(r'CMD (\[.*\])', instructions['HEALTHCHECK'])
    folder = str(Path(CONFIGURATION[1]).parent)

    assert instructions['LABEL']
    assert role['placement_worker_tag'] == metadata.version('placement-worker')
    assert instructions['USER'].endswith(f':{role["placement_worker_gid"]}')
    assert role['placement_worker_healthcheck']['test'] == ['CMD', *json.loads(check)]
    assert role['placement_worker_default_volumes'][0].endswith(f':{folder}/:ro')


def test_role_sets_known_options_only(tmp_path):
    """Each option of the template is one that a worker reads."""
    template = (ROLE / 'templates' / 'placement-worker.conf.j2').read_text()
    file = tmp_path / 'placement-worker.conf'
    file.write_text(re.sub(r'\{%.*?%\}\n', '', template))
    sections = {}
    cfg.ConfigParser(str(file), sections).parse()

    assert upgrade.find_unknown_options([str(file)]) == []
    known = {option.dest for option in dict(options.list_opts())[options.SERVICE_AUTH]}
    assert set(sections['service_auth']) - known == set()


def test_jobs_of_zuul_run_existing_environments_of_tox():
    """Zuul runs no job or environment that does not exist."""
    parts = yaml.safe_load((ROOT / '.zuul.yaml').read_text())
    jobs = {part['job']['name']: part['job'] for part in parts if 'job' in part}
    (project,) = (part['project'] for part in parts if 'project' in part)
    tox = configparser.RawConfigParser()
    tox.read(ROOT / 'tox.ini')
    there = {
        *tox['tox']['envlist'].split(','),
        *(name.removeprefix('testenv:') for name in tox.sections()),
    }

    of_templates = {'cover', 'pep8', 'docs', 'py311', 'py313', 'releasenotes'}
    assert of_templates <= there
    assert set(project['gate']['jobs']) <= set(jobs)
    assert {job['parent'] for job in jobs.values()} <= {'tox', *jobs}
    assert {job['vars'].get('tox_envlist') for job in jobs.values()} - {None} <= there
