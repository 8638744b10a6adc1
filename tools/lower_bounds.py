"""Check that this environment has exactly the minimum versions of setup.cfg.

`tox -e lower-bounds` runs it. The arguments are the installed extras. A minimum that other packages
exclude cannot be installed.
"""

import sys
from collections.abc import Iterator, Sequence
from importlib import metadata

from packaging.requirements import Requirement
from packaging.version import Version

PACKAGE = 'placement-worker'


def misses(extras: Sequence[str]) -> Iterator[str]:
    """Yield a line for each dependency whose installed version is not its minimum."""
    for requirement in map(Requirement, metadata.requires(PACKAGE) or []):
        marker = requirement.marker
        if marker and not any(marker.evaluate({'extra': extra}) for extra in ('', *extras)):
            continue
        minimum = next(
            (Version(one.version) for one in requirement.specifier if one.operator == '>='), None
        )
        installed = Version(metadata.version(requirement.name))
        if installed != minimum:
            wanted = minimum or 'no minimum'
            yield f'{requirement.name}: setup.cfg names {wanted}, installed is {installed}'


if __name__ == '__main__':
    sys.exit('\n'.join(misses(sys.argv[1:])) or 0)
