"""The virtual environment of the services.

It is created once, and again if the pinned packages or the Python version change.
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
    """Install the services if necessary and return the folder of their environment.

    Each set of pinned packages has its own subfolder, so several checkouts can share the folder
    that the variable names.
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
    pip = [str(folder / 'bin' / 'python'), '-m', 'pip', 'install', '--quiet']
    # Python compiles modules when they are imported; this halves the time
    given = ['--no-compile', '--requirement', str(requirements), '--constraint', str(constraints)]
    subprocess.run([*pip, *given], check=True)
