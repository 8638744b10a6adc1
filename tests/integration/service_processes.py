"""The processes of the services, in a private folder, with a process reaper."""

import socket
import subprocess
import tempfile
from pathlib import Path
from string import Template

from tests.integration import mariadb
from tests.integration.environment import SERVICES
from tests.integration.service import Service
from tests.process_reaper import Program, Reaper

NOVAS = {'RegionOne': 'nova-one', 'RegionTwo': 'nova-two'}
NAMES = {
    'keystone': 'keystone',
    'neutron': 'neutron',
    'octavia': 'octavia',
    **dict.fromkeys(NOVAS.values(), 'nova'),
}
TEMPLATES = SERVICES / 'etc'
LAST_LINES = 30


class Processes:
    """The processes of the services.

    Their sockets accept connections before the processes start, so none waits for another.
    """

    def __init__(self, environment: Path) -> None:
        """Start the processes.

        :param environment: the virtual environment of the services.
        """
        self.folder = Path(tempfile.mkdtemp(prefix='placement-worker-services-'))
        self.has_row_locks = mariadb.chosen()
        sockets = {name: _listen() for name in NAMES}
        self.services = {name: Service(name, _url(one)) for name, one in sockets.items()}
        self._configure(environment)
        try:
            programs = [self._program(environment, name, one) for name, one in sockets.items()]
            databases = [mariadb.program(self.folder)] if self.has_row_locks else []
            self._reaper = Reaper(self.folder, databases + programs)
        finally:
            for one in sockets.values():
                one.close()

    def close(self) -> None:
        self._reaper.close()

    def output(self) -> str:
        """Return the last lines of the output of each process."""
        files = sorted(self.folder.glob('*.out')) + sorted(self.folder.glob('*.log'))
        ends = [
            (file.name, file.read_text(errors='replace').splitlines()[-LAST_LINES:])
            for file in files
        ]
        return '\n'.join(f'--- {name}\n' + '\n'.join(lines) for name, lines in ends if lines)

    def _program(self, environment: Path, name: str, listening: socket.socket) -> Program:
        file = listening.fileno()
        serve = [str(SERVICES / 'serve.py'), NAMES[name], name, str(file), str(self.folder)]
        arguments = [str(environment / 'bin' / 'python'), *serve]
        return Program(arguments, str(self.folder / f'{name}.out'), [file])

    def _configure(self, environment: Path) -> None:
        (self.folder / 'etc').mkdir()
        credentials = Template((TEMPLATES / 'credentials').read_text())
        auth_url = f'{self.services["keystone"].url}/v3'
        for name, service in NAMES.items():
            written = Template((TEMPLATES / f'{service}.conf').read_text()).substitute(
                name=name,
                folder=self.folder,
                prefix=environment,
                octavia_database=mariadb.url(self.folder)
                if self.has_row_locks
                else f'sqlite:///{self.folder}/octavia.db',
                credentials=credentials.substitute(user=service, auth_url=auth_url),
            )
            (self.folder / 'etc' / f'{name}.conf').write_text(written)
        _make_authority(self.folder)


def _listen() -> socket.socket:
    made = socket.socket()
    made.bind(('127.0.0.1', 0))
    made.listen()
    return made


def _url(listening: socket.socket) -> str:
    return 'http://{}:{}'.format(*listening.getsockname())


def _make_authority(folder: Path) -> None:
    """Create the certificate authority of Octavia."""
    command = (
        'openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=octavia '
        '-keyout ca.key -out ca.pem'
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
