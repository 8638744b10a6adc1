"""A private MariaDB for services.

Concurrent flows of Octavia need row locks, which sqlite does not have.
"""

import os
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.process_reaper import Program

CHOICE = 'PLACEMENT_WORKER_TEST_OCTAVIA_DATABASE'
NAMES = ('mariadb', 'sqlite')
CHARACTERS = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci'
SBIN = '/usr/sbin'  # not in the PATH of plain users


def chosen() -> bool:
    """Return whether Octavia uses MariaDB: if the variable says so, or else if it is installed."""
    choice = os.environ.get(CHOICE) or NAMES[not _find('mariadbd')]
    if choice not in NAMES:
        raise ValueError(f'{CHOICE} is {choice!r}: set it to one of {", ".join(NAMES)}')
    return choice == 'mariadb'


def socket_in(folder: Path) -> Path:
    """Return the socket of the server in a folder."""
    return folder / 'mariadb.socket'


def url(folder: Path, database: str) -> str:
    """Return the URL of a database for SQLAlchemy."""
    socket = socket_in(folder)
    return f'mysql+pymysql://root@localhost/{database}?unix_socket={socket}&charset=utf8mb4'


def program(folder: Path, databases: Iterable[str]) -> Program:
    """Return a server without access control that listens on a socket in the folder.

    :param databases: the names of the databases that it creates.
    """
    data, socket, first = folder / 'mariadb', socket_in(folder), folder / 'mariadb.sql'
    first.write_text(''.join(f'CREATE DATABASE `{name}` {CHARACTERS};\n' for name in databases))
    data.mkdir()
    names = {
        name: _find(name) or '' for name in ('mariadb-install-db', 'mariadbd', 'my_print_defaults')
    }
    missing = [name for name, path in names.items() if not path]
    if missing:
        raise RuntimeError(
            f'{", ".join(missing)} not installed: apt-get install mariadb-server-core '
            f'mariadb-client-core, or set {CHOICE}=sqlite'
        )
    user = ['--user=root'] if os.geteuid() == 0 else []
    install = [
        names['mariadb-install-db'],
        '--no-defaults',
        f'--datadir={data}',
        '--skip-test-db',
        *user,
    ]
    serve = [
        names['mariadbd'],
        '--no-defaults',
        f'--datadir={data}',
        f'--socket={socket}',
        f'--init-file={first}',
        *user,
    ]
    serve += ['--skip-networking', '--skip-grant-tables', '--innodb-flush-log-at-trx-commit=0']
    serve += ['--max-connections=2000']
    return Program(
        ['sh', '-c', f'{shlex.join(install)} && exec {shlex.join(serve)}'],
        str(folder / 'mariadb.out'),
    )


def _find(name: str) -> str | None:
    return shutil.which(name, path=f'{os.environ["PATH"]}{os.pathsep}{SBIN}')
