"""A private MariaDB for Octavia.

Concurrent flows of Octavia need row locks, which sqlite does not have.
"""

import os
import shlex
import shutil
from pathlib import Path

from tests.process_reaper import Program

CHOICE = 'PLACEMENT_WORKER_TEST_OCTAVIA_DATABASE'
NAMES = ('mariadb', 'sqlite')
SBIN = '/usr/sbin'  # not in the PATH of plain users


def chosen() -> bool:
    """Return whether Octavia uses MariaDB: if the variable says so, or else if it is installed."""
    choice = os.environ.get(CHOICE) or NAMES[not _find('mariadbd')]
    if choice not in NAMES:
        raise ValueError(f'{CHOICE} is {choice!r}: set it to one of {", ".join(NAMES)}')
    return choice == 'mariadb'


def url(folder: Path) -> str:
    """Return the URL of Octavia's database for SQLAlchemy."""
    socket = f'{folder}/mariadb.socket'
    return f'mysql+pymysql://root@localhost/octavia?unix_socket={socket}&charset=utf8mb4'


def program(folder: Path) -> Program:
    """Return a server without access control that listens on a socket in the folder."""
    data, socket, first = folder / 'mariadb', folder / 'mariadb.socket', folder / 'mariadb.sql'
    first.write_text('CREATE DATABASE octavia CHARACTER SET utf8mb4;\n')
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
    return Program(
        ['sh', '-c', f'{shlex.join(install)} && exec {shlex.join(serve)}'],
        str(folder / 'mariadb.out'),
    )


def _find(name: str) -> str | None:
    return shutil.which(name, path=f'{os.environ["PATH"]}{os.pathsep}{SBIN}')
