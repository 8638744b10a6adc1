"""The processes of the services, in a private folder, with a process reaper."""

import socket
import subprocess
import tempfile
from pathlib import Path
from string import Template

from tests.integration import mariadb
from tests.integration.environment import SERVICES
from tests.integration.layout import Layout
from tests.integration.service import Service
from tests.process_reaper import Program, Reaper

TEMPLATES = SERVICES / 'etc'
LAST_LINES = 30


class Processes:
    """The processes of the services.

    Their sockets accept connections before the processes start, so none waits for another.
    """

    def __init__(self, environment: Path, layout: Layout) -> None:
        """Start the processes.

        :param environment: the virtual environment of the services.
        """
        self.folder = Path(tempfile.mkdtemp(prefix='placement-worker-services-'))
        self._layout = layout
        self.environment = environment
        sockets = {name: _listen() for name in layout.kinds}
        self.services = {name: Service(name, _url(one)) for name, one in sockets.items()}
        self._configure()
        try:
            programs = [self._program(name, one) for name, one in sockets.items()]
            if layout.in_mariadb:
                programs.insert(0, mariadb.program(self.folder, layout.in_mariadb))
            self._reaper = Reaper(self.folder, programs)
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

    def _program(self, name: str, listening: socket.socket) -> Program:
        file = listening.fileno()
        kind = self._layout.kinds[name]
        serve = [str(SERVICES / 'serve.py'), kind, name, str(file), str(self.folder)]
        arguments = [str(self.environment / 'bin' / 'python'), *serve]
        return Program(arguments, str(self.folder / f'{name}.out'), [file])

    def _configure(self) -> None:
        (self.folder / 'etc').mkdir()
        for name, kind in self._layout.kinds.items():
            written = self.template(
                TEMPLATES / f'{kind}.conf',
                name=name,
                prefix=self.environment,
                database=self.database(name),
                api_database=self.database(f'{name}-api'),
                credentials=self.credentials(kind),
                **self._layout.variables.get(name, {}),
            )
            (self.folder / 'etc' / f'{name}.conf').write_text(written)
        _make_authority(self.folder)

    def template(self, file: Path, **variables: object) -> str:
        """Return the text of a template with the values of its variables."""
        return Template(file.read_text()).substitute(folder=self.folder, **variables)

    def credentials(self, user: str, keystone_url: str = '') -> str:
        """Return the options with which a service user logs in.

        :param keystone_url: that of a proxy, if not of Keystone itself.
        """
        auth_url = f'{keystone_url or self.services["keystone"].url}/v3'
        return self.template(TEMPLATES / 'credentials', user=user, auth_url=auth_url)

    def database(self, name: str) -> str:
        """Return the options of a database."""
        in_mariadb = name in self._layout.in_mariadb
        in_file = f'sqlite:///{self.folder}/{name}.db'
        return self.template(
            TEMPLATES / 'database', url=mariadb.url(self.folder, name) if in_mariadb else in_file
        )


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
