"""A machine that only the test sees: this one's, with folders that nothing is written through
to.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

FOLDERS = ('/etc', '/opt', '/usr/local')
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
    """A mount namespace with `FOLDERS` laid over; whoever enters it is root in it, and leaves no
    trace.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix='placement-worker-machine-'))
        command = [
            'unshare',
            '--mount',
            '--propagation',
            'private',
            'bash',
            '-c',
            PRELUDE,
            self._folder,
            *FOLDERS,
        ]
        self._inside = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @classmethod
    def refusal(cls) -> str | None:
        """Why there can be none here; None if there can be."""
        if os.geteuid():
            return 'only root may lay folders over'
        machine = cls()
        with machine:
            return machine._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._inside.kill()
        self._inside.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> Self:
        """Wait until the folders are laid over."""
        refusal = self._wait()
        if refusal is not None:
            raise RuntimeError(refusal)
        return self

    def entered(self, command: str) -> str:
        """The command line by which bash runs a command in it, in the folder where it stands."""
        namespace = f'/proc/{self._inside.pid}/ns/mnt'
        return (
            f'nsenter --mount={namespace} --wd="$PWD" bash -euo pipefail -c {shlex.quote(command)}'
        )

    def _wait(self) -> str | None:
        assert self._inside.stdout is not None
        assert self._inside.stderr is not None
        return None if self._inside.stdout.readline() == 'ready\n' else self._inside.stderr.read()
