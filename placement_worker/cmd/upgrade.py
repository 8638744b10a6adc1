"""placement-worker-status upgrade check; importing this imports the messaging layer."""

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result
from packaging.requirements import Requirement
from packaging.version import Version

from placement_worker import config
from placement_worker.client.connection import load_transport_url, open_connection
from placement_worker.cmd import permissions
from placement_worker.config import unknown_options
from placement_worker.messaging import publisher, topology
from placement_worker.worker import process

OLDEST_BROKER = '3.10'

Check = Callable[[Any], Result]


def failing(check: Check) -> Check:
    """A check that fails with what is raised."""

    @functools.wraps(check)
    def checked(self: 'Checks') -> Result:
        try:
            return check(self)
        except process.FAULTS as exc:
            return Result(Code.FAILURE, process.told(exc))

    return checked


class Checks(upgradecheck.UpgradeCommands):
    """Whether a worker of this version can start with this configuration; nothing is made or
    changed.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    @failing
    def configuration(self) -> Result:
        """Every option has a value that fits, and the cloud is one that is there."""
        config.validate_options(self._conf)
        process.clouds(self._conf)
        publisher.check(self._conf)
        return Result(Code.SUCCESS)

    @failing
    def strays(self) -> Result:
        """Nothing stands in the files that nobody reads."""
        found = unknown_options.found(unknown_options.files(self._conf))
        return (
            Result(Code.WARNING, f'Nobody reads {", ".join(found)}')
            if found
            else Result(Code.SUCCESS)
        )

    @failing
    def permissions(self) -> Result:
        """The user of the service can write the files that the configuration names."""
        return permissions.check(self._conf)

    @failing
    def timeouts(self) -> Result:
        """Who waits waits longer than what it waits for."""
        config.validate_timeouts(self._conf)
        return Result(Code.SUCCESS)

    @failing
    def broker(self) -> Result:
        """A broker answers, lets us in, and is not too old."""
        target = load_transport_url(self._conf)
        if not target.transport.startswith('rabbit'):
            return Result(
                Code.WARNING,
                f'The driver is {target.transport}: a worker that dies loses the requests it has in hand. Use '
                'rabbit:// in production.',
            )
        with open_connection(self._conf, target) as connection:
            version = str(connection.connection.server_properties.get('version', ''))
        return broker_version(version)

    @failing
    def queues(self) -> Result:
        """Exchange and queues, where they are there, are made as the worker needs them."""
        found = topology.compare(
            self._conf, load_transport_url(self._conf), process.queues(self._conf)
        )
        if found.mismatches:
            return Result(Code.FAILURE, ' '.join(found.mismatches))
        if found.missing:
            return Result(
                Code.SUCCESS, f'Not there yet, a worker makes them: {", ".join(found.missing)}'
            )
        return Result(Code.SUCCESS)

    @failing
    def libraries(self) -> Result:
        """What is installed is what the package asks for."""
        wrong = unfit(metadata.requires(process.PROGRAM) or [], metadata.version)
        return Result(Code.FAILURE, '; '.join(wrong)) if wrong else Result(Code.SUCCESS)

    _upgrade_checks = (
        ('Configuration', configuration),
        ('Names of options', strays),
        ('Permissions', permissions),
        ('Order of time-outs', timeouts),
        ('Libraries', libraries),
        ('Broker', broker),
        ('Exchange and queues', queues),
    )


def broker_version(version: str) -> Result:
    """Whether RabbitMQ of this version will do; one that does not tell its version may."""
    if not version[:1].isdigit():
        return Result(
            Code.WARNING,
            f'The broker does not tell its version; RabbitMQ {OLDEST_BROKER} or newer is needed.',
        )
    if Version(version.partition('-')[0].partition('+')[0]) < Version(OLDEST_BROKER):
        return Result(
            Code.FAILURE, f'The broker is RabbitMQ {version}; {OLDEST_BROKER} or newer is needed.'
        )
    return Result(Code.SUCCESS, f'RabbitMQ {version}')


def unfit(requirements: Sequence[str], installed: Callable[[str], str]) -> list[str]:
    """Of the package's requirements those that are not met, in words.

    :param requirements: as in the metadata of a package, e.g. `oslo.messaging<19,>=18.2`.
    :param installed: the version of a distribution; raises PackageNotFoundError.
    """
    found = []
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({'extra': ''}):
            continue
        try:
            version = installed(requirement.name)
        except metadata.PackageNotFoundError:
            found.append(f'{requirement.name} is not installed, needed is {requirement.specifier}')
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            found.append(
                f'{requirement.name} {version} is installed, needed is {requirement.specifier}'
            )
    return found


def run(
    program: str, arguments: Sequence[str], conf: cfg.ConfigOpts = cfg.CONF, user: str | None = None
) -> int:
    """Check what a configuration leads to, and print a table or JSON.

    :param arguments: of the command line, e.g. `--config-file FILE upgrade check`.
    :param user: whose permissions count; see `permissions.become`.
    :returns: the codes of oslo.upgradecheck: 0 success, 1 warning, 2 failure, 255 if a check
        breaks.
    """
    config.register(conf)
    log.register_options(conf)
    config.set_defaults()
    try:
        permissions.become(user)
        return int(upgradecheck.main(conf, process.PROGRAM, Checks(conf), list(arguments)))
    except process.FAULTS as exc:
        print(f'{program}: {process.told(exc)} (as user {permissions.own_name()})', file=sys.stderr)  # noqa: T201
        return int(Code.FAILURE)
