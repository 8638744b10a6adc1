"""Run the role of deploy/kolla-ansible with kolla-ansible's own tasks and modules on this host.

A container engine and a systemd that are files replace the real ones (tools/kolla_fakes), so
nothing outside a temporary folder changes. The written configuration is checked as a worker checks
it. `tox -e deploy` installs kolla-ansible.
"""

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from oslo_config import cfg

from placement_worker import config
from placement_worker.config import service_auth, unknown_options, validation

REPOSITORY = Path(__file__).parents[1]
ROLE = REPOSITORY / 'deploy' / 'kolla-ansible'
FAKES = REPOSITORY / 'tools' / 'kolla_fakes'
KOLLA = Path(sys.prefix) / 'share' / 'kolla-ansible'
BIN = Path(sys.executable).parent
CONFIGURATION = '/etc/placement-worker/placement-worker.conf'
CHECK = f'placement-worker-status --config-file {CONFIGURATION} upgrade check'
IMAGE = 'registry.example.org/placement-worker'
UPGRADED = '0.0.1'
"""The tag of another image, older than any, for an upgrade."""
SETTINGS: dict[str, dict[str, Any]] = {
    'encrypted': {'rabbitmq_enable_tls': True, 'kolla_copy_ca_into_containers': True},
    'without metrics': {'placement_worker_metrics_enabled': False},
}
"""Sets of variables for which the configuration is written and checked, besides the defaults."""
PROGRAMS = {
    'systemctl': '[ "$*" = daemon-reload ]',
    'docker': f'[ "$*" = "exec placement_worker {CHECK}" ]',
}
"""Programs of the host that the role runs; a replacement accepts only the expected arguments."""
UNIT_FOLDER = 'kolla-placement_worker-container.service.d'


class Deployment:
    """A folder with kolla-ansible and this role, its settings and the files that it writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / 'engine.json'
        self.written = folder / 'node' / 'placement-worker' / 'placement-worker.conf'
        self.units = folder / 'units'
        self.overrides = folder / 'etc' / 'config'
        self._install()
        self._configure()

    def _install(self) -> None:
        """Copy the role into kolla-ansible, as README.rst says, and the fakes over its modules."""
        ansible = self._folder / 'ansible'
        shutil.copytree(KOLLA / 'ansible', ansible)
        shutil.copy(ROLE / 'placement-worker.yml', ansible)
        shutil.copytree(ROLE / 'roles', ansible / 'roles', dirs_exist_ok=True)
        shutil.copy(FAKES / 'kolla_toolbox.py', ansible / 'library')
        worker = ansible / 'module_utils' / 'kolla_systemd_worker.py'
        text = worker.read_text()
        require('/etc/systemd/system/' in text, f'{worker} has another folder of units')
        worker.write_text(text.replace('/etc/systemd/system/', f'{self.units}/'))
        for name, script in PROGRAMS.items():
            program = self._folder / 'bin' / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f'#!/bin/sh\n{script}\n')
            program.chmod(0o755)

    def _configure(self) -> None:
        etc, example = self._folder / 'etc', KOLLA / 'etc_examples' / 'kolla'
        for folder in (self.overrides, etc / 'certificates' / 'ca', self.units):
            folder.mkdir(parents=True)
        (etc / 'certificates' / 'ca' / 'root.crt').write_text('a certificate\n')
        shutil.copy(example / 'passwords.yml', etc)
        with (etc / 'passwords.yml').open('a') as file:
            file.write((ROLE / 'etc' / 'passwords.yml').read_text().replace('---\n', ''))
        self._tool('kolla-genpwd', '--passwords', etc / 'passwords.yml')
        (etc / 'globals.yml').write_text((ROLE / 'etc' / 'globals.yml').read_text())
        self._state.write_text(json.dumps({'image': image(), 'containers': {}}))

    def lint(self) -> None:
        """Check the role with ansible-lint; kolla-ansible's names of roles have hyphens as well."""
        skipped = ('--skip-list', 'role-name')
        self._tool(
            'ansible-lint',
            '--offline',
            '-q',
            *skipped,
            'placement-worker.yml',
            'roles/placement-worker',
        )

    def _tool(self, *command: str | Path) -> str:
        ansible = self._folder / 'ansible'
        environment = {
            **os.environ,
            'ANSIBLE_ACTION_PLUGINS': str(ansible / 'action_plugins'),
            'ANSIBLE_FILTER_PLUGINS': str(ansible / 'filter_plugins'),
            'ANSIBLE_LIBRARY': str(ansible / 'library'),
            'ANSIBLE_LOCALHOST_WARNING': 'false',
            'ANSIBLE_MODULE_UTILS': str(ansible / 'module_utils'),
            'ANSIBLE_NOCOLOR': 'true',
            'ANSIBLE_ROLES_PATH': str(ansible / 'roles'),
            'KOLLA_FAKES': str(self._state),
            'PATH': f'{self._folder / "bin"}:{BIN}:{os.environ["PATH"]}',
            'PYTHONPATH': str(FAKES),
        }
        done = subprocess.run(
            [BIN / command[0], *command[1:]],
            check=False,
            capture_output=True,
            text=True,
            cwd=ansible,
            env=environment,
        )
        require(done.returncode == 0, f'{command} failed:\n{done.stdout}\n{done.stderr}')
        return done.stdout

    def run(self, *action: str, **settings: Any) -> int:
        """Run one action of kolla-ansible, and return the number of its changes."""
        variables = {
            'ansible_become': False,
            'ansible_python_interpreter': sys.executable,
            'config_owner_user': pwd.getpwuid(os.getuid()).pw_name,
            'kolla_internal_vip_address': '127.0.0.1',
            'network_interface': 'lo',
            'node_config_directory': str(self.written.parents[1]),
            'placement_worker_gid': os.getgid(),
            'placement_worker_unit_folder': str(self.units / UNIT_FOLDER),
            **settings,
        }
        output = self._tool(
            'kolla-ansible',
            *action,
            *('--configdir', self._folder / 'etc'),
            *('--playbook', self._folder / 'ansible' / 'placement-worker.yml'),
            *('--inventory', self._folder / 'ansible' / 'inventory' / 'all-in-one'),
            *('--inventory', ROLE / 'etc' / 'inventory'),
            *('--extra-vars', json.dumps(variables)),
        )
        summary = re.search(r'ok=[1-9]\d* +changed=(\d+) ', output)
        require(summary is not None, f'{action} did nothing:\n{output}')
        return int(summary[1]) if summary else 0

    @property
    def containers(self) -> dict[str, Any]:
        """The containers of the engine by name."""
        return dict(json.loads(self._state.read_text())['containers'])


def image() -> dict[str, Any]:
    """Return what a container takes from the image of the Containerfile."""
    text = (REPOSITORY / 'Containerfile').read_text().rpartition('\nFROM ')[2]
    lines = text.replace('\\\n', ' ').splitlines()[1:]
    found = {line.split()[0]: line.partition(' ')[2] for line in lines if line}
    return {
        'name': f'{IMAGE}:{metadata.version("placement-worker")}',
        'labels': dict(label.split('=', 1) for label in shlex.split(found.get('LABEL', ''))),
        'command': json.loads(found['ENTRYPOINT']) + json.loads(found['CMD']),
        'healthcheck': {'Test': ['CMD', *json.loads(found['HEALTHCHECK'].partition('CMD ')[2])]},
    }


def require(condition: bool, message: str) -> None:
    """End with a message if a condition is not met."""
    if not condition:
        raise SystemExit(message)


def check_options(file: Path) -> dict[str, dict[str, list[str]]]:
    """Check a file as a worker does, and the options of its user, which a worker skips.

    :returns: the values of each option by section.
    """
    unknown = unknown_options.find([str(file)])
    require(not unknown, f'{file}: {"; ".join(unknown)}')
    conf = cfg.ConfigOpts()
    config.register(conf)
    config.set_defaults()
    conf([], project='placement-worker', default_config_files=[str(file)])
    validation.validate_options(conf)
    validation.validate_timeouts(conf)
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(file), sections).parse()
    known = {option.dest for option in service_auth.sample_options()}
    unknown = sorted(set(sections[service_auth.GROUP]) - known)
    require(not unknown, f'{file}: unknown options of [{service_auth.GROUP}]: {unknown}')
    return sections


def check_configurations(deployment: Deployment) -> None:
    """Write and check the configuration for all settings."""
    for name, settings in SETTINGS.items():
        deployment.run('genconfig', **settings)
        sections = check_options(deployment.written)
        certificates = deployment.written.with_name('ca.crt')
        encrypted = name == 'encrypted'
        require(('oslo_messaging_rabbit' in sections) == encrypted, f'{name}: wrong TLS')
        require(certificates.exists() == encrypted, f'{name}: wrong certificates')
        require(('metrics' in sections) == (name != 'without metrics'), f'{name}: wrong metrics')
        certificates.unlink(missing_ok=True)


def check_life(deployment: Deployment) -> None:
    """Deploy, change, upgrade and stop a worker."""
    deployment.run('prechecks')
    deployment.run('pull')
    deployment.run('deploy')
    check_options(deployment.written)
    created = deployment.containers['placement_worker']
    require(created['State']['Status'] == 'running', 'The container does not run')
    require(deployment.run('deploy') == 0, 'A second deployment changes something')
    deployment.run('check')
    deployment.run('validate-config')
    (deployment.overrides / 'placement-worker.conf').write_text('[worker]\nthreads = 4\n')
    deployment.run('reconfigure')
    changed = deployment.containers['placement_worker']
    require(changed['Config']['Env'] != created['Config']['Env'], 'The container is the old one')
    sections = check_options(deployment.written)
    require(sections['worker']['threads'] == ['4'], 'The override is missing')
    require(deployment.run('deploy-containers') == 0, 'The container is not the one to deploy')
    deployment.run('upgrade', placement_worker_tag=UPGRADED)
    upgraded = deployment.containers['placement_worker']
    require(upgraded['Config']['Image'] == f'{IMAGE}:{UPGRADED}', 'The container has the old image')
    deployment.run('stop', '--yes-i-really-really-mean-it')
    stopped = deployment.containers['placement_worker']
    require(stopped['State']['Status'] == 'exited', 'The container still runs')


def check_unit(deployment: Deployment) -> None:
    """Check that systemd waits for the engine, and the engine for the worker."""
    (unit,) = deployment.units.glob('*.service')
    seconds = re.search(r' -t (\d+)\n', unit.read_text())
    drop_in = re.search(
        r'TimeoutStopSec=(\d+)\n', (deployment.units / UNIT_FOLDER / 'stop.conf').read_text()
    )
    require(seconds is not None and drop_in is not None, 'The unit has no timeout')
    if seconds and drop_in:
        times = (config.GRACEFUL_SHUTDOWN_TIMEOUT_S, int(seconds[1]), int(drop_in[1]))
        require(sorted(set(times)) == list(times), f'Wrong order of the timeouts {times}')


def main() -> None:
    """Check the role; a failed check ends with its reason."""
    with tempfile.TemporaryDirectory(prefix='placement-worker-kolla-') as folder:
        deployment = Deployment(Path(folder))
        deployment.lint()
        check_configurations(deployment)
        check_life(deployment)
        check_unit(deployment)
    version = metadata.version('kolla-ansible')
    sys.stdout.write(
        f'placement-worker: deployed, changed and stopped by kolla-ansible {version}\n'
    )


if __name__ == '__main__':
    main()
