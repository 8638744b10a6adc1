"""A machine that DevStack's stand-ins in this folder stack: all its folders are in one of the
test's own.
"""

import configparser
import getpass
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
UNIT = 'devstack@placement-worker.service'
CONSTRAINTS = REPOSITORY / 'tests' / 'constraints' / '2025.2.txt'
RUN_TIMEOUT_S = 600  # a full installation, on a busy machine


class Run(NamedTuple):
    status: int
    stdout: str
    stderr: str


class Host:
    """The folders of a host with DevStack, and the scripts to run there."""

    def __init__(self, folder: Path, plugins: Sequence[str], **settings: object) -> None:
        """Prepare the folders.

        :param plugins: in the order of local.conf.
        :param settings: variables of local.conf, or of DevStack itself.
        """
        self.dest, self.etc, self.units = folder / 'dest', folder / 'etc', folder / 'systemd'
        self.bin, self.venv = folder / 'bin', folder / 'venv'
        shutil.copytree(HERE / 'bin', self.bin)
        requirements = self.dest / 'requirements'
        for one in (self.dest, self.etc, self.units, requirements):
            one.mkdir()
        (requirements / 'upper-constraints.txt').symlink_to(CONSTRAINTS)
        (self.dest / 'senlin').symlink_to(HERE / 'senlin')
        (self.dest / 'placement-worker').symlink_to(REPOSITORY)
        self.conf = self.etc / 'placement-worker' / 'placement-worker.conf'
        self.senlin_conf = self.etc / 'senlin' / 'senlin.conf'
        self.keystone = folder / 'keystone'
        self._environment = {
            'PATH': f'{self.bin}{os.pathsep}{os.environ["PATH"]}',
            'HOME': str(folder),
            'DEVSTACK_PLUGINS': ','.join(plugins),
            'DEVSTACK_VENV': str(self.venv),
            'PYTHON': sys.executable,
            'PIP_COMPILE': '0',  # the first import compiles a module
            'STACK_USER': getpass.getuser(),
            'DEST': str(self.dest),
            'ETC': str(self.etc),
            'SYSTEMD_DIR': str(self.units),
            'KEYSTONE': str(self.keystone),
            'KEYSTONE_SERVICE_URI': 'http://127.0.0.1/identity',
            'SERVICE_PASSWORD': 'service-secret',
            'SERVICE_TIMEOUT': '60',
            'REGION_NAME': 'RegionOne',
            'ENABLE_DEBUG_LOG_LEVEL': 'True',
            'ENABLED_SERVICES': 'key',
            'DISABLED_SERVICES': '',
            'RABBIT_USERID': 'stackrabbit',
            'RABBIT_PASSWORD': 'rabbit-secret',
            'RABBIT_HOST': '127.0.0.1',
            'RABBIT_PORT': '5672',
            'PLACEMENT_WORKER_CONF_DIR': str(self.conf.parent),
            **{name: str(value) for name, value in settings.items()},
        }

    def put(self, name: str, program: str) -> None:
        (self.bin / name).write_text(program)
        (self.bin / name).chmod(0o755)

    def run(self, script: str, *phases: str) -> Run:
        """Run `stack`, `unstack` or `clean`.

        :param phases: of `stack`; all if there are none.
        """
        done = subprocess.run(
            [HERE / 'stack.sh', script, *phases],
            env=self._environment,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def new_names(self) -> set[str]:
        """Variables and functions that the plugins left in DevStack's shell."""
        return set((self.dest / 'names').read_text().split())

    def end_units(self) -> None:
        """End what is left of the units, should a test have failed half-way."""
        for file in self.units.glob('*.pid'):
            with suppress(ProcessLookupError):
                os.killpg(int(file.read_text()), signal.SIGKILL)


def settings_of(file: Path) -> dict[str, Mapping[str, str]]:
    """The sections of an ini file; an option that stands twice in one is an error."""
    parser = configparser.RawConfigParser(default_section='none')
    parser.read_string(file.read_text())
    return {name: dict(parser[name]) for name in parser.sections()}
