"""The systemd unit, the container file and the jobs of Zuul and pre-commit: what no test runs as it
stands.
"""

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

from placement_worker import config

ROOT = Path(__file__).parents[2]
UNIT = ROOT / 'conf' / 'placement-worker.service'
CONFIGURATION = ['--config-file', '/etc/placement-worker/placement-worker.conf']


@pytest.fixture
def service():
    parser = configparser.RawConfigParser()
    parser.read(UNIT)
    return parser['Service']


@pytest.fixture
def instructions():
    """Of the image's last stage: instruction -> its arguments, the last one if there are
    several.
    """
    text = (ROOT / 'Containerfile').read_text().rpartition('\nFROM ')[2].replace('\\\n', ' ')
    return {
        name: ' '.join(arguments)
        for name, *arguments in (line.split() for line in text.splitlines()[1:] if line)
    }


def scripts():
    return {entry.name for entry in metadata.distribution('placement-worker').entry_points}


@pytest.mark.skipif(not shutil.which('systemd-analyze'), reason='systemd is not installed')
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace('/usr/bin/placement-worker ', f'{sys.executable} '))

    done = subprocess.run(
        ['systemd-analyze', 'verify', unit], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, '')


def test_the_unit_has_what_the_manual_says():
    block = (
        (ROOT / 'doc' / 'source' / 'health.rst')
        .read_text()
        .split('    [Service]\n')[1]
        .split('\n\n')[0]
    )
    lines = [line.strip() for line in block.splitlines()]

    assert 'Type=notify' in lines
    assert set(lines) - set(UNIT.read_text().splitlines()) == set()


def test_systemd_waits_longer_than_a_stopping_worker_does(service):
    assert int(service['timeoutstopsec']) > config.GRACEFUL_SHUTDOWN_TIMEOUT_S


def test_the_unit_runs_our_command_as_a_user_of_its_own(service):
    command, *arguments = service['execstart'].split()

    assert Path(command).name in scripts()
    assert arguments == CONFIGURATION
    assert service['user'] == service['group'] == 'placement-worker'


def test_the_image_runs_our_command_without_a_shell_and_not_as_root(instructions):
    (command,) = json.loads(instructions['ENTRYPOINT'])

    assert command in scripts()
    assert json.loads(instructions['CMD']) == CONFIGURATION
    assert re.fullmatch(r'[1-9]\d*:[1-9]\d*', instructions['USER'])
    assert instructions['STOPSIGNAL'] == 'SIGTERM'


def test_the_image_is_healthy_by_the_file_that_its_worker_is_told_to_write(
    instructions, monkeypatch
):
    command, *arguments = json.loads(instructions['HEALTHCHECK'].partition(' CMD ')[2])
    name, _, file = re.search(r'(OS_\w+)(=)(\S+)', instructions['ENV']).groups()
    monkeypatch.setenv(name, file)
    conf = cfg.ConfigOpts()
    config.register(conf)

    conf([], project='placement-worker', default_config_files=[])

    assert command in scripts()
    assert arguments == ['liveness', '--file', file]
    assert conf.worker.liveness_file == file


def test_what_the_image_is_built_from_is_not_left_out():
    kept = {
        line[1:]
        for line in (ROOT / '.dockerignore').read_text().splitlines()
        if line.startswith('!')
    }

    assert kept == {'LICENSE', 'README.rst', 'placement_worker', 'pyproject.toml', 'setup.cfg'}
    assert all((ROOT / name).exists() for name in kept)


def test_the_jobs_of_zuul_are_there_and_run_environments_of_tox():
    parts = yaml.safe_load((ROOT / '.zuul.yaml').read_text())
    jobs = {part['job']['name']: part['job'] for part in parts if 'job' in part}
    (project,) = (part['project'] for part in parts if 'project' in part)
    tox = configparser.RawConfigParser()
    tox.read(ROOT / 'tox.ini')
    there = {
        *tox['tox']['envlist'].split(','),
        *(name.removeprefix('testenv:') for name in tox.sections()),
    }

    assert set(project['gate']['jobs']) <= set(jobs)
    assert {job['parent'] for job in jobs.values()} <= {'tox', *jobs}
    assert {
        job['vars']['tox_envlist'] for job in jobs.values() if 'tox_envlist' in job['vars']
    } <= there


def test_no_hook_of_pre_commit_fetches_anything():
    repositories = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())['repos']

    assert {one['repo'] for one in repositories} == {'local'}
    assert {hook['language'] for one in repositories for hook in one['hooks']} == {'system'}
