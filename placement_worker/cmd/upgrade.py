"""The command `placement-worker-status upgrade check`; this module imports oslo.messaging."""

import functools
import os
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from placement_worker import config
from placement_worker.client.connection import load_transport_url, open_connection
from placement_worker.cmd import permissions, trustees
from placement_worker.config import unknown_options, validation
from placement_worker.formats.text import escaped
from placement_worker.messaging import notification_sender, topology
from placement_worker.policies.plugins import from_packages
from placement_worker.policies.registry import Registry
from placement_worker.worker import cloud_factory, cordon_factory, queues, startup

OLDEST_BROKER = '3.10'
CHECK_FAILED = 255
"""The exit status of oslo.upgradecheck if the check itself failed."""

Check = Callable[[Any], Result]


def reports_startup_errors(check: Check) -> Check:
    """Return a check that reports an expected exception as its failure."""

    @functools.wraps(check)
    def checked(self: 'Checks') -> Result:
        try:
            return check(self)
        except startup.STARTUP_ERRORS as exc:
            return Result(Code.FAILURE, startup.describe_error(exc))

    return checked


class Checks(upgradecheck.UpgradeCommands):
    """Checks of whether a worker of this version can start; they change nothing."""

    def __init__(self, conf: cfg.ConfigOpts, engine_files: Sequence[str] = ()) -> None:
        """Set the configuration of the worker, and the files of the engines that it serves."""
        self._conf, self._engine_files = conf, engine_files
        self._broker_failed = False
        if engine_files:
            self._upgrade_checks = (*self._upgrade_checks, ('Trustee', Checks.check_trustee))

    @reports_startup_errors
    def check_configuration(self) -> Result:
        """Check that every option has a valid value, the cloud and the cordon file included."""
        validation.validate_options(self._conf)
        cloud_factory.create(self._conf)
        cordon_factory.create(self._conf)
        notification_sender.check(self._conf)
        return Result(Code.SUCCESS)

    @reports_startup_errors
    def check_unknown_options(self) -> Result:
        """Check that the files contain no unknown option."""
        found = unknown_options.find(unknown_options.files(self._conf))
        return Result(Code.WARNING, '; '.join(found)) if found else Result(Code.SUCCESS)

    @reports_startup_errors
    def check_permissions(self) -> Result:
        """Check that the user of the service can write the files that the configuration names."""
        return permissions.check(self._conf)

    @reports_startup_errors
    def check_timeouts(self) -> Result:
        """Check that each timeout exceeds the timeouts nested inside it."""
        validation.validate_timeouts(self._conf)
        return Result(Code.SUCCESS)

    @reports_startup_errors
    def check_broker(self) -> Result:
        """Check that a broker accepts the connection and is recent enough."""
        target = load_transport_url(self._conf)
        if not target.transport.startswith('rabbit'):
            return Result(
                Code.WARNING,
                f'The driver is {target.transport}: a worker that crashes loses its requests in '
                'flight. Use rabbit:// in production.',
            )
        self._broker_failed = True
        with open_connection(self._conf, target) as connection:
            version = str(connection.connection.server_properties.get('version', ''))
        self._broker_failed = False
        return broker_version(version)

    @reports_startup_errors
    def check_queues(self) -> Result:
        """Check the permissions on exchange and queues, and the properties of existing ones."""
        if self._broker_failed:
            return Result(Code.WARNING, 'Not checked: the check of the broker failed')
        found = topology.compare(
            self._conf, load_transport_url(self._conf), queues.names(self._conf)
        )
        if found.mismatches:
            return Result(Code.FAILURE, ' '.join(found.mismatches))
        if found.missing:
            return Result(
                Code.SUCCESS, f'Not declared yet; a worker declares: {", ".join(found.missing)}'
            )
        return Result(Code.SUCCESS)

    @reports_startup_errors
    def check_libraries(self) -> Result:
        """Check that the installed libraries meet the requirements of this package."""
        wrong = unmet(metadata.requires(startup.PROGRAM) or [], metadata.version)
        return Result(Code.FAILURE, '; '.join(wrong)) if wrong else Result(Code.SUCCESS)

    @reports_startup_errors
    def check_policy_types(self) -> Result:
        """Check that this version can use the policy types of all installed packages."""
        skipped = Registry.installed().skipped
        found = [f'{name}{from_packages(name)}: {why}' for name, why in sorted(skipped.items())]
        return Result(Code.WARNING, '; '.join(found)) if found else Result(Code.SUCCESS)

    @reports_startup_errors
    def check_trustee(self) -> Result:
        """Check that the service user is the trustee of each engine."""
        return trustees.check(self._conf, self._engine_files)

    _upgrade_checks: tuple[tuple[str, Check], ...] = (
        ('Configuration', check_configuration),
        ('Names of options', check_unknown_options),
        ('Permissions', check_permissions),
        ('Order of timeouts', check_timeouts),
        ('Libraries', check_libraries),
        ('Policy types', check_policy_types),
        ('Broker', check_broker),
        ('Exchange and queues', check_queues),
    )


def broker_version(version: str) -> Result:
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

    :param requirements: requirements of a package's metadata, e.g. `oslo.messaging<19,>=18.2`.
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


def run(
    program: str,
    arguments: Sequence[str],
    conf: cfg.ConfigOpts = cfg.CONF,
    user: str | None = None,
    engine_files: Sequence[str] = (),
) -> int:
    """Check a configuration, and print the results as a table or JSON.

    :param arguments: the command line, e.g. `--config-file FILE upgrade check`.
    :param user: the user whose permissions count; see `permissions.become`.
    :param engine_files: the configuration files of the engines; see `trustees.check`.
    :returns: the exit status of oslo.upgradecheck: 0 success, 1 warning, 2 failure, 255 if a check
        raises.
    """
    config.register(conf)
    log.register_options(conf)
    config.set_defaults()
    try:
        permissions.become(user)
        checks = Checks(conf, engine_files)
        status = int(upgradecheck.main(conf, startup.PROGRAM, checks, list(arguments)))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has closed the pipe; the flush at exit must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CHECK_FAILED
    except startup.STARTUP_ERRORS as exc:
        user_name = permissions.own_name()
        message = f'{program}: {startup.describe_error(exc)} (as user {user_name})'
        print(message, file=sys.stderr)  # noqa: T201
        return int(Code.FAILURE)
