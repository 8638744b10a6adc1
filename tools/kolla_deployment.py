"""kolla-ansible with the role of deploy/kolla-ansible in a folder; `kolla_role.py` checks it there.

A container engine and a systemd that are files replace the real ones (tools/kolla_fakes), so
nothing outside that folder changes.
"""

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[1]
ROLE = REPOSITORY / 'deploy' / 'kolla-ansible'
FAKES = REPOSITORY / 'tools' / 'kolla_fakes'
KOLLA = Path(sys.prefix) / 'share' / 'kolla-ansible'
BIN = Path(sys.executable).parent
CONFIGURATION = '/etc/placement-worker/placement-worker.conf'
CHECK = f'placement-worker-status --config-file {CONFIGURATION} upgrade check'
IMAGE = 'registry.example.org/placement-worker'
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

    def scrape_configuration(self) -> dict[str, Any]:
        """Return the part for Prometheus, with variables and filters as in kolla-ansible's role."""
        play = self._folder / 'ansible' / 'prometheus-part.yml'
        part = self._folder / 'prometheus.yml'
        template = {'src': str(ROLE / 'etc' / 'prometheus.yml.j2'), 'dest': str(part)}
        task = {'name': 'Write the part', 'ansible.builtin.template': template}
        plays = [
            {'import_playbook': 'gather-facts.yml'},
            {'hosts': 'placement-worker', 'gather_facts': False, 'tasks': [task]},
        ]
        play.write_text(yaml.safe_dump(plays))
        self.run('genconfig', playbook=play.name)
        return dict(yaml.safe_load(part.read_text()))

    def run(self, *action: str, playbook: str = 'placement-worker.yml', **settings: Any) -> int:
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
            *('--playbook', self._folder / 'ansible' / playbook),
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
