"""A folder with the files that the commands of the manual name, and a shell to run them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.manual.pages import ROOT, Block

# The exit status of successful commands, if it is not 0.
EXPECTED_STATUS = {r'placement-policy plan [^|]+$': 2}
TIMEOUT_S = 300


def environment(**more: str) -> dict[str, str]:
    """Return environment variables with the programs of this environment first in PATH."""
    return {
        **os.environ,
        'PATH': f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}',
        **more,
    }


def python_folder() -> Path:
    """Return the folder of the python3 that this environment was created from."""
    return Path(sys.base_prefix) / 'bin'


def furnish(folder: Path, blocks: list[Block]) -> None:
    """Create the files of a clone, the files that a page shows, and files of the user."""
    for name in ('examples', 'conf'):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / '.gitignore', folder)
    shutil.copy(folder / 'examples' / 'scenarios' / 'zone-outage.yaml', folder / 'scenario.yaml')
    for block in blocks:
        if block.caption and block.kind != 'bash':
            (folder / block.caption).write_text(f'{block.text}\n')


def type_in(command: str, folder: Path, env: Mapping[str, str], answer: str = '') -> str:
    """Run a command in bash, check its exit status, and return its output."""
    done = subprocess.run(
        ['bash', '-euo', 'pipefail', '-c', command],
        cwd=folder,
        env=env,
        input=answer,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    expected = next(
        (status for known, status in EXPECTED_STATUS.items() if re.match(known, command)), 0
    )
    assert done.returncode == expected, f'{command}: exit status {done.returncode}\n{done.stdout}'
    return done.stdout


def timeless(output: str) -> str:
    """Return output without the parts that differ each time: times and trailing blank lines."""
    return re.sub(r'(elapsed_ms: )[\d.]+|[\d.]+ (?=ms\b)', r'\1', output).rstrip()


def clone(folder: Path) -> None:
    """Copy the files of this repository, including uncommitted ones."""
    names = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
    listed = subprocess.run(names, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split('\0')):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
