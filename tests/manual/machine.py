"""A private view of this machine: writes to its system folders are visible to the test only."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from tests.waiting import first_line

FOLDERS = ('/etc', '/opt', '/usr/local', '/var/log')
PRELUDE = """
set -e
mount -t tmpfs none "$0"
for folder in "$@"; do
    upper="$0/upper$folder" work="$0/work$folder"
    mkdir -p "$upper" "$work"
    mount -t overlay none -o "lowerdir=$folder,upperdir=$upper,workdir=$work" "$folder"
done
echo ready
exec sleep infinity
"""


class Machine:
    """A mount namespace with an overlay over each of `FOLDERS`, in which the test runs as root."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix='placement-worker-machine-'))
        unshare = ['unshare', '--mount', '--propagation', 'private']
        command = [*unshare, 'bash', '-c', PRELUDE, self._folder, *FOLDERS]
        self._inside = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @classmethod
    def refusal(cls) -> str | None:
        """Return why this system has no such namespaces, or None."""
        if os.geteuid():
            return 'overlay mounts need root'
        with cls() as machine:
            return machine._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._inside.kill()
        self._inside.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> Self:
        refusal = self._wait()
        if refusal is not None:
            raise RuntimeError(refusal)
        return self

    def entered(self, command: str) -> str:
        """Return a command line that runs a command inside, in the current folder."""
        namespace = f'/proc/{self._inside.pid}/ns/mnt'
        return (
            f'nsenter --mount={namespace} --wd="$PWD" bash -euo pipefail -c {shlex.quote(command)}'
        )

    def _wait(self) -> str | None:
        assert self._inside.stderr is not None
        return None if first_line(self._inside) == 'ready\n' else self._inside.stderr.read()
