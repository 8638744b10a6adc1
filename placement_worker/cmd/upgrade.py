"""The command `placement-worker-status upgrade check`: whether a worker of this version can start.

The checks change nothing. They read what a start reads and report what a start would refuse, so
that an operator learns it before the old workers are stopped.
"""

import contextlib
import functools
import glob
import logging
import os
import pwd
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from placement_worker.client.transport import load_transport_url, open_connection
from placement_worker.config import options, validation
from placement_worker.config.options import SERVICE_AUTH
from placement_worker.errors import ConfigurationError
from placement_worker.formats.text import escaped, listed, nearest
from placement_worker.messaging import notifications, topology
from placement_worker.metrics import prometheus
from placement_worker.policies.plugin_checks import from_packages
from placement_worker.policies.registry import Registry
from placement_worker.worker import factory, startup

PROGRAM = 'placement-worker-status'
# The user in conf/placement-worker.service, and the folders that it creates at its start.
SERVICE_USER = 'placement-worker'
UNIT_FOLDERS = ('/run/placement-worker', '/var/log/placement-worker')
_LOG_FILE = '[DEFAULT] log_file'
_DECISION_LOG = '[decision_log] file'
_REPORTS = '[oslo_reports] log_dir'
_LIVENESS = '[worker] liveness_file'
_NOT_OPENED_AT_START = (_REPORTS, _LIVENESS)  # a worker starts although it cannot write these
# The option with the trustee by section, of Heat (heat/common/context.py of Heat 27) and of Senlin
# (senlin/conf/authentication.py of Senlin 16).
_TRUSTEES = {'trustee': 'username', 'authentication': 'service_username'}
_OPTION_LISTS = 'oslo.config.opts'  # by which packages list their options
# Libraries read more options than they list, e.g. [oslo_messaging_tracing].
_INCOMPLETE_PREFIX = 'oslo_'
_OLDEST_BROKER = '3.10'
_POLICY_BROKER = '4.3'  # the oldest one that keeps the requests of a vanished host for a minute
_BROKER = 'Broker'
_ON_THE_BROKER = ('Exchange and queues', 'Notifications')
_CHECK_FAILED = 255  # oslo.upgradecheck's exit status if the check itself failed


class Concern(Exception):
    """A finding that does not keep a worker from starting."""


class Checks(upgradecheck.UpgradeCommands):
    """The checks in the order of the report.

    A check is a function of the configuration. It returns details for the report, raises `Concern`
    for a warning, and for a failure the error that a start would raise.
    """

    def __init__(self, conf: cfg.ConfigOpts, engine_files: Sequence[str] = ()) -> None:
        self._conf = conf
        self._checks: dict[str, Callable[[cfg.ConfigOpts], str | None]] = {
            'Configuration': check_configuration,
            'Names of options': check_unknown_options,
            'Permissions': check_permissions,
            'Metrics': check_metrics,
            'Order of timeouts': validation.validate_timeouts,
            'Libraries': check_libraries,
            'Policy types': check_policy_types,
            _BROKER: check_broker,
            'Exchange and queues': check_queues,
            'Notifications': notifications.check,
        }
        if engine_files:
            self._checks['Trustee'] = functools.partial(check_trustee, engine_files)
        self._upgrade_checks = tuple(
            (name, (Checks.result, {'name': name})) for name in self._checks
        )
        self._broker_failed = False

    def result(self, name: str) -> Result:
        if self._broker_failed and name in _ON_THE_BROKER:
            return Result(Code.WARNING, 'Not checked: the check of the broker failed')
        try:
            return Result(Code.SUCCESS, self._checks[name](self._conf))
        except Concern as exc:
            return Result(Code.WARNING, str(exc))
        except startup.STARTUP_ERRORS as exc:
            self._broker_failed |= name == _BROKER
            return Result(Code.FAILURE, startup.describe_error(exc))


def run(arguments: Sequence[str], user: str | None, engine_files: Sequence[str]) -> int:
    """Check a configuration, print the results as a table or JSON, and return the exit status.

    :param arguments: the command line, e.g. `--config-file FILE upgrade check`.
    """
    conf = cfg.CONF
    options.register(conf)
    log.register_options(conf)
    options.set_defaults()
    # stevedore also raises the error that it logs.
    logging.getLogger('stevedore').setLevel(logging.CRITICAL)
    try:
        become_user(user)
        checks = Checks(conf, engine_files)
        status = int(upgradecheck.main(conf, startup.PROGRAM, checks, list(arguments)))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has closed the pipe; the flush at exit must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CHECK_FAILED
    except startup.STARTUP_ERRORS as exc:
        message = f'{PROGRAM}: {startup.describe_error(exc)} (as user {_own_name()})'
        print(message, file=sys.stderr)  # noqa: T201
        return int(Code.FAILURE)


def become_user(name: str | None) -> None:
    """Switch this process from root to the user of the service.

    The kernel then judges permissions, including ACLs and read-only mounts. `$HOME` changes as
    well because oslo.config searches it for default files.

    :param name: the user of the service. None: `SERVICE_USER` if the process runs as root and that
        user exists, else no switch.
    """
    try:
        user = pwd.getpwnam(name or SERVICE_USER)
    except KeyError:
        if name is None:
            return
        raise ConfigurationError(f'Unknown user {name!a}; correct --user') from None
    own_id = os.geteuid()
    if user.pw_uid == own_id or (name is None and own_id != 0):
        return
    if own_id != 0:
        raise ConfigurationError(
            f'--user {name}: only root can check the permissions of another user'
        )
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    os.environ['HOME'] = user.pw_dir
    for path in sys.path:
        try:
            os.stat(path)
        except PermissionError:
            raise ConfigurationError(
                f'Cannot read the Python installation: {path}; install the worker with a Python '
                'that its user can read'
            ) from None
        except OSError:  # a folder in the path need not exist
            pass


def _own_name() -> str:
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def check_configuration(conf: cfg.ConfigOpts) -> None:
    validation.validate_options(conf)
    validation.validate_logging_file(conf.log_config_append)
    factory.create_clouds(conf)
    factory.create_cordons(conf)


def check_permissions(conf: cfg.ConfigOpts) -> str:
    """Check the files that a worker writes; other checks open the files that it reads."""
    user = _own_name()
    concerns: list[str] = []
    failures: list[str] = []
    for option, path in _written(conf):
        folder = os.path.dirname(path) or '.'
        problems = concerns if option in _NOT_OPENED_AT_START else failures
        if folder in UNIT_FOLDERS and not os.path.isdir(folder):
            concerns.append(
                f'{option}: folder {folder} does not exist; placement-worker.service creates it'
            )
        elif not os.path.isdir(folder):
            problems.append(
                f'{option}: folder {folder} does not exist, or user {user} cannot reach it; create '
                f'it, and let user {user} write to it'
            )
        elif option in (_LOG_FILE, _DECISION_LOG) and os.path.isdir(path):
            problems.append(f'{option}: {path} is a folder; name a file in it')
        elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
            problems.append(f'{option}: user {user} cannot write {path}')
    if failures:
        raise ConfigurationError('; '.join([*failures, *concerns]))
    if concerns:
        raise Concern('; '.join(concerns))
    return f'Checked the permissions of user {user}'


def _written(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str]]:
    """Yield options with the paths that a worker writes; the path of a folder ends in "/"."""
    liveness_file = conf.worker.liveness_file
    for option, path in (
        (_LOG_FILE, conf.log_file and os.path.join(conf.log_dir or '', conf.log_file)),
        ('[DEFAULT] log_dir', conf.log_dir and not conf.log_file and _inside(conf.log_dir)),
        (_DECISION_LOG, conf.decision_log.file),
        ('[metrics] folder', _first_created(conf.metrics.folder) if conf.metrics.port else None),
        (_REPORTS, conf.oslo_reports.log_dir and _inside(conf.oslo_reports.log_dir)),
        # The worker replaces this file by a rename, so its folder must be writable.
        (_LIVENESS, liveness_file and _inside(os.path.dirname(liveness_file) or '.')),
    ):
        if path:
            yield option, path


def _inside(folder: str) -> str:
    return os.path.join(folder, '')


def _first_created(folder: str | None) -> str | None:
    """Return the first folder of a path that a worker creates, or the whole path if it exists."""
    while folder:
        parent = os.path.dirname(folder)
        if os.path.exists(folder) or not parent or os.path.exists(parent) or parent in UNIT_FOLDERS:
            break
        folder = parent
    return folder


def check_metrics(conf: cfg.ConfigOpts) -> str | None:
    port = conf.metrics.port
    if port is None or prometheus.is_port_free(port, conf.metrics.address):
        return None
    return f'Port {port} is in use, by the running worker or by another program'


def check_libraries(conf: cfg.ConfigOpts) -> None:
    startup.prepare_tracing(conf)
    if unmet := unmet_requirements(metadata.requires(startup.PROGRAM) or [], metadata.version):
        raise ConfigurationError('; '.join(unmet))


def check_policy_types(_conf: cfg.ConfigOpts) -> None:
    with contextlib.redirect_stdout(sys.stderr):  # a plugin may print while it is imported
        skipped = Registry.installed().skipped
    if skipped:
        reasons = (f'{name}{from_packages(name)}: {why}' for name, why in sorted(skipped.items()))
        raise Concern('; '.join(reasons))


def check_broker(conf: cfg.ConfigOpts) -> str:
    target = load_transport_url(conf)
    if not target.transport.startswith('rabbit'):
        raise Concern(
            f'The driver is {target.transport}: a worker that crashes loses its requests in '
            'flight. Use rabbit:// in production.'
        )
    with open_connection(conf, target) as connection:
        version = str(connection.connection.server_properties.get('version', ''))
    return check_broker_version(version)


def check_broker_version(version: str) -> str:
    required = f'{_OLDEST_BROKER} or newer is required'
    if not version[:1].isdigit():
        raise Concern(f'The broker reports no version; RabbitMQ {required}')
    try:
        number = Version(version.partition('-')[0].partition('+')[0])
    except InvalidVersion:
        text = f'The broker reports the unknown version {escaped(version)}; RabbitMQ {required}'
        raise Concern(text) from None
    if number < Version(_OLDEST_BROKER):
        raise ConfigurationError(f'The broker is RabbitMQ {version}; {required}')
    if number < Version(_POLICY_BROKER):
        return f'RabbitMQ {version}'
    return (
        f'RabbitMQ {version}. This check cannot see its policies: "rabbitmqctl list_policies" must '
        'have consumer-disconnected-timeout for the queues of the workers'
    )


def check_queues(conf: cfg.ConfigOpts) -> str | None:
    queues, parking_lot = factory.queue_names(conf), factory.parking_lot(conf)
    comparison = topology.compare(conf, load_transport_url(conf), queues, parking_lot)
    if comparison.mismatches:
        raise ConfigurationError(' '.join(comparison.mismatches))
    if comparison.missing:
        return f'Not declared yet; a worker declares: {", ".join(comparison.missing)}'
    return None


def check_trustee(engine_files: Sequence[str], conf: cfg.ConfigOpts) -> str:
    """Compare the service user with the trustees of engines.

    The domains of the users are not compared: one may be given by its name, the other by its id.
    """
    user = _value(configuration_files(conf), SERVICE_AUTH, 'username')
    if user is None:
        raise Concern(
            f'[{SERVICE_AUTH}] has no username, so it cannot be compared with the trustees of '
            'engines'
        )
    trustees = ((file, *_trustee(file)) for file in engine_files)
    wrong = [
        f'{file}: {option} is {escaped(trustee)}'
        for file, option, trustee in trustees
        if trustee != user
    ]
    if wrong:
        raise ConfigurationError(
            f'[{SERVICE_AUTH}] username is {escaped(user)}, but {"; ".join(wrong)}. A trust is '
            'valid for its trustee only: use one user for the workers and all of their engines, or '
            'run other workers for this engine'
        )
    return f'User {escaped(user)} is the trustee of each engine'


def _trustee(file: str) -> tuple[str, str]:
    for section, option in _TRUSTEES.items():
        trustee = _value([file], section, option)
        if trustee:
            return f'[{section}] {option}', trustee
    options = ' nor '.join(f'[{section}] {option}' for section, option in _TRUSTEES.items())
    raise ConfigurationError(f'{file} has neither {options}; name the file of an engine')


def _value(files: Sequence[str], section: str, option: str) -> str | None:
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('auth_section'), group=section)
    conf([], default_config_files=list(files), default_config_dirs=[])
    group = conf[section].auth_section or section
    conf.register_opt(cfg.StrOpt(option, deprecated_name='user_name'), group=group)
    value: str | None = conf[group][option]
    return value


def configuration_files(conf: cfg.ConfigOpts) -> list[str]:
    folders = (glob.glob(os.path.join(folder, '*.conf')) for folder in conf.config_dir)
    return [*conf.config_file, *(file for folder in folders for file in sorted(folder))]


def check_unknown_options(conf: cfg.ConfigOpts) -> None:
    if unknown := find_unknown_options(configuration_files(conf)):
        raise Concern('; '.join(unknown))


def find_unknown_options(paths: Iterable[str]) -> list[str]:
    """Return a message for each section or option that no installed package reads.

    Most are misspelled, and oslo.config ignores them without a word. `oslo-config-validator`
    suggests no names, and needs all files and namespaces as arguments. The options of an auth
    plugin are not listed, so [service_auth] and the section of its auth_section are not checked.
    """
    known = _known_options()
    parsed: dict[str, dict[str, Any]] = {path: {} for path in paths}
    for path, sections in parsed.items():
        cfg.ConfigParser(path, sections).parse()
    parsed['the environment'] = _environment()
    unchecked = {SERVICE_AUTH}
    for sections in parsed.values():
        for section, values in sections.items():
            if _normalized(section) == SERVICE_AUTH:
                unchecked.update(map(_normalized, values.get('auth_section', ())))
    return [
        f'{unknown} in {path}; it has no effect'
        for path, sections in parsed.items()
        for unknown in _unknown_options(sections, known, unchecked)
    ]


def _unknown_options(
    sections: dict[str, Any], known: dict[str, set[str]], unchecked: set[str]
) -> Iterator[str]:
    for section, values in sections.items():
        group = _normalized(section)
        if group in unchecked:
            continue
        if group in known:
            for option in values:
                name = option.replace('-', '_')
                if name not in known[group]:
                    owners = [f'[{other}]' for other in sorted(known) if name in known[other]]
                    hint = _suggestion(name, known[group])
                    if owners:
                        hint = f' (it belongs to {listed(owners)})'
                    yield f'Unknown option [{section}] {option}{hint}'
        elif not group.startswith(_INCOMPLETE_PREFIX):
            yield f'Unknown section [{section}]{_suggestion(section, {*known, *unchecked})}'


def _normalized(section: str) -> str:
    """Return the name by which oslo.config looks up a section."""
    return section if section == 'DEFAULT' else section.lower()


def _suggestion(name: str, known: Iterable[str]) -> str:
    spellings = {spelling.lower(): spelling for spelling in known}
    near = nearest(name.lower(), spellings)
    return f' (did you mean {spellings[near]}?)' if near else ''


def _environment() -> dict[str, Any]:
    sections: dict[str, Any] = defaultdict(dict)
    for name in os.environ:
        if variable := re.fullmatch(r'OS_(\w+?)__(\w+)', name):  # OS_WORKER__WORKERS
            group = variable[1] if variable[1] == 'DEFAULT' else variable[1].lower()
            sections[group][variable[2].lower()] = [os.environ[name]]
    return sections


def _known_options() -> dict[str, set[str]]:
    known: dict[str, set[str]] = defaultdict(set)
    for entry_point in metadata.entry_points(group=_OPTION_LISTS):
        try:
            groups = entry_point.load()()
        except (Exception, SystemExit):  # noqa: S112  # a package without its dependencies reads no options here
            continue
        for group, group_options in groups:
            section = str(getattr(group, 'name', group) or 'DEFAULT')
            for option in group_options:
                # The name in code, `dest`, has underscores and may differ.
                known[_normalized(section)] |= {option.dest, option.name.replace('-', '_')}
                for old in option.deprecated_opts:
                    name = (old.name or option.name).replace('-', '_')
                    known[_normalized(old.group or section)].add(name)
    return known


def unmet_requirements(requirements: Sequence[str], installed: Callable[[str], str]) -> list[str]:
    unmet = []
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({'extra': ''}):
            continue
        try:
            version = installed(requirement.name)
        except metadata.PackageNotFoundError:
            needed = f'; {requirement.specifier} is required' if requirement.specifier else ''
            unmet.append(f'{requirement.name} is missing{needed}')
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            unmet.append(
                f'{requirement.name} {version} is installed; {requirement.specifier} is required'
            )
    return unmet
