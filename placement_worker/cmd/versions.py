"""Check the versions of the broker and of the installed libraries."""

from collections.abc import Callable, Sequence
from importlib import metadata

from oslo_upgradecheck.upgradecheck import Code, Result
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from placement_worker.formats.text import escaped

OLDEST_BROKER = '3.10'


def of_broker(version: str) -> Result:
    """Return whether a version of RabbitMQ is recent enough; an unknown version is a warning."""
    if not version[:1].isdigit():
        return Result(
            Code.WARNING,
            f'The broker reports no version; RabbitMQ {OLDEST_BROKER} or newer is required',
        )
    try:
        is_old = Version(version.partition('-')[0].partition('+')[0]) < Version(OLDEST_BROKER)
    except InvalidVersion:
        return Result(
            Code.WARNING,
            f'The broker reports the unknown version {escaped(version)}; RabbitMQ {OLDEST_BROKER} '
            'or newer is required',
        )
    if is_old:
        return Result(
            Code.FAILURE, f'The broker is RabbitMQ {version}; {OLDEST_BROKER} or newer is required'
        )
    return Result(Code.SUCCESS, f'RabbitMQ {version}')


def unmet(requirements: Sequence[str], installed: Callable[[str], str]) -> list[str]:
    """Return a sentence for each requirement that the installed libraries do not meet.

    :param requirements: requirements of a package's metadata, e.g. `oslo.messaging<19,>=17.1`.
    :param installed: returns the version of a distribution, or raises PackageNotFoundError.
    """
    found = []
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({'extra': ''}):
            continue
        try:
            version = installed(requirement.name)
        except metadata.PackageNotFoundError:
            needed = f'; {requirement.specifier} is required' if requirement.specifier else ''
            found.append(f'{requirement.name} is missing{needed}')
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            found.append(
                f'{requirement.name} {version} is installed; {requirement.specifier} is required'
            )
    return found
