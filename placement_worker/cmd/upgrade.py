"""The command `placement-worker-status upgrade check`; this module imports oslo.messaging."""

import contextlib
import functools
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from placement_worker.client.transport import load_transport_url, open_connection
from placement_worker.cmd import permissions, trustees, unknown_options, versions
from placement_worker.config import options, validation
from placement_worker.messaging import notifications, rpc_server, topology
from placement_worker.metrics import http_server
from placement_worker.policies.plugin_packages import from_packages
from placement_worker.policies.registry import Registry
from placement_worker.worker import factory, startup

CHECK_FAILED = 255
"""The exit status of oslo.upgradecheck if the check itself failed."""
NOT_CHECKED = Result(Code.WARNING, 'Not checked: the check of the broker failed')

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
        """Check that every option has a valid value, the files that they name included."""
        validation.validate_options(self._conf)
        validation.validate_logging_file(self._conf.log_config_append)
        factory.create_clouds(self._conf)
        factory.create_cordons(self._conf)
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
    def check_metrics(self) -> Result:
        """Check that address and port of the metrics can be used, or are in use."""
        port = self._conf.metrics.port
        if port is None or http_server.is_free(port, self._conf.metrics.address):
            return Result(Code.SUCCESS)
        return Result(
            Code.SUCCESS, f'Port {port} is in use, by the running worker or by another program'
        )

    @reports_startup_errors
    def check_timeouts(self) -> Result:
        """Check that each timeout exceeds the timeouts nested inside it."""
        validation.validate_timeouts(self._conf)
        return Result(Code.SUCCESS)

    @reports_startup_errors
    def check_broker(self) -> Result:
        """Check that a broker accepts the connection and is recent enough."""
        self._broker_failed = True
        target = load_transport_url(self._conf)
        if not target.transport.startswith('rabbit'):
            self._broker_failed = False
            return Result(
                Code.WARNING,
                f'The driver is {target.transport}: a worker that crashes loses its requests in '
                'flight. Use rabbit:// in production.',
            )
        with open_connection(self._conf, target) as connection:
            version = str(connection.connection.server_properties.get('version', ''))
        self._broker_failed = False
        return versions.of_broker(version)

    @reports_startup_errors
    def check_queues(self) -> Result:
        """Check the permissions on exchange and queues, and the properties of existing ones."""
        if self._broker_failed:
            return NOT_CHECKED
        found = topology.compare(
            self._conf, load_transport_url(self._conf), factory.queue_names(self._conf)
        )
        if found.mismatches:
            return Result(Code.FAILURE, ' '.join(found.mismatches))
        if found.missing:
            return Result(
                Code.SUCCESS, f'Not declared yet; a worker declares: {", ".join(found.missing)}'
            )
        return Result(Code.SUCCESS)

    @reports_startup_errors
    def check_notifications(self) -> Result:
        """Check the address and the drivers of notifications."""
        if self._broker_failed:
            return NOT_CHECKED
        notifications.check(self._conf)
        return Result(Code.SUCCESS)

    @reports_startup_errors
    def check_libraries(self) -> Result:
        """Check that the installed libraries meet the requirements of this package."""
        rpc_server.prepare_tracing(self._conf)
        wrong = versions.unmet(metadata.requires(startup.PROGRAM) or [], metadata.version)
        return Result(Code.FAILURE, '; '.join(wrong)) if wrong else Result(Code.SUCCESS)

    @reports_startup_errors
    def check_policy_types(self) -> Result:
        """Check that this version can use the policy types of all installed packages."""
        with contextlib.redirect_stdout(sys.stderr):  # a plugin may print while it is imported
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
        ('Metrics', check_metrics),
        ('Order of timeouts', check_timeouts),
        ('Libraries', check_libraries),
        ('Policy types', check_policy_types),
        ('Broker', check_broker),
        ('Exchange and queues', check_queues),
        ('Notifications', check_notifications),
    )


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
    options.register(conf)
    log.register_options(conf)
    options.set_defaults()
    # stevedore also raises the error that it logs.
    logging.getLogger('stevedore').setLevel(logging.CRITICAL)
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
