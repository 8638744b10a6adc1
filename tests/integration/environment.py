"""The virtual environment that holds the services: made once, and again when its pins or its Python
change.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

SERVICES = Path(__file__).parent / 'services'
PINS = (SERVICES / 'requirements.txt', SERVICES / 'constraints.txt')
PLACE = 'PLACEMENT_WORKER_TEST_SERVICES_VENV'
DEFAULT_PLACE = Path(__file__).parents[2] / '.services-venv'


def prepare() -> Path:
    """Install the services where they are not yet and return the folder of their environment.

    That is a subfolder of the place that the variable names, one for each set of pins: checkouts
    may share the place.
    """
    place = Path(os.environ.get(PLACE) or DEFAULT_PLACE).absolute()
    place.mkdir(parents=True, exist_ok=True)
    made = place / _digest()
    with (place / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete = made / 'complete'
        if not complete.exists():
            _install(made)
            complete.touch()
    return made


def _digest() -> str:
    pins = b''.join(file.read_bytes() for file in PINS)
    return hashlib.sha256(pins + sys.version.encode()).hexdigest()[:12]


def _install(folder: Path) -> None:
    venv.create(folder, clear=True, with_pip=True)
    requirements, constraints = PINS
    pip = [
        str(folder / 'bin' / 'python'),
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
    ]
    # Python compiles the few modules that are imported when they are: half the time
    given = ['--no-compile', '--requirement', str(requirements), '--constraint', str(constraints)]
    subprocess.run([*pip, *given], check=True)
