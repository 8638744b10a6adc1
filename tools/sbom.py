"""The software bill of materials (CycloneDX) of an environment with the installed wheel.

Needs the package `cyclonedx-bom`; `tox -e packages` has it.
"""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = 'placement-worker'


def write(environment: Path, sbom: Path) -> None:
    """Write the bill of the packages in an environment; cyclonedx-py validates its schema."""
    for file in environment.glob('lib/python*/site-packages/placement_worker-*/direct_url.json'):
        file.unlink()  # it has the path of the wheel on this machine
    command = ['environment', '--output-reproducible', '--output-file', sbom]
    python = environment / 'bin' / 'python'
    subprocess.run([sys.executable, '-m', 'cyclonedx_py', *command, python], check=True)


def check(environment: Path, sbom: Path) -> None:
    """Exit unless the bill has all packages of the environment, and names no path."""
    text = sbom.read_text(encoding='utf-8')
    components = {canonicalize_name(one['name']): one for one in json.loads(text)['components']}
    (site,) = environment.glob('lib/python*/site-packages')
    installed = {
        canonicalize_name(one.name): one.version for one in metadata.distributions(path=[str(site)])
    }
    versions = {name: one['version'] for name, one in components.items()}
    if versions != installed or not _required(site) <= installed.keys():
        raise SystemExit(f'{sbom.name} has {versions}, but installed are {installed}')
    unnamed = [name for name, one in components.items() if not one.get('purl')]
    if unnamed or str(environment) in text or 'file:' in text:
        raise SystemExit(f'{sbom.name}: no package URL of {unnamed}, or a path of this machine')


def _required(site: Path) -> set[str]:
    """Return the names of the direct dependencies, without those of extras."""
    (found,) = metadata.distributions(name=NAME, path=[str(site)])
    parsed = [Requirement(text) for text in found.requires or ()]
    return {
        canonicalize_name(one.name)
        for one in parsed
        if one.marker is None or one.marker.evaluate({'extra': ''})
    }
