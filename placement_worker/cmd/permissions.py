"""Check that the user of the service can use the files that a configuration names."""

import os
import pwd
import sys
from collections.abc import Iterator

from oslo_config import cfg
from oslo_upgradecheck.upgradecheck import Code, Result

from placement_worker.errors import ConfigurationError

SERVICE_USER = 'placement-worker'
"""The user in conf/placement-worker.service."""
UNIT_FOLDERS = ('/run/placement-worker', '/var/log/placement-worker')
"""The folders that conf/placement-worker.service creates at its start."""
LOG_FILE = '[DEFAULT] log_file'
DECISION_LOG = '[decision_log] file'
REPORTS = '[oslo_reports] log_dir'
LIVENESS = '[worker] liveness_file'
FILES = (LOG_FILE, DECISION_LOG)
NOT_OPENED_AT_START = (REPORTS, LIVENESS)
"""A worker starts although it cannot write these."""


def become(name: str | None) -> None:
    """Switch this process from root to the user of the service.

    The kernel then judges permissions, including ACLs and read-only mounts. `$HOME` changes as
    well because oslo.config searches it for default files.

    :param name: the user of the service. None: `SERVICE_USER` if the process runs as root and that
        user exists, else no switch.
    :raises ConfigurationError: the user does not exist, or cannot read the Python installation, or
        the process does not run as root.
    """
    try:
        user = pwd.getpwnam(name or SERVICE_USER)
    except KeyError:
        if name is None:
            return
        raise ConfigurationError(f'Unknown user {name!a}; correct --user') from None
    is_root = os.geteuid() == 0
    if user.pw_uid == os.geteuid() or (name is None and not is_root):
        return
    if not is_root:
        raise ConfigurationError(
            f'--user {name}: only root can check the permissions of another user'
        )
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    os.environ['HOME'] = user.pw_dir
    forbidden = next(filter(_is_forbidden, sys.path), None)
    if forbidden:
        raise ConfigurationError(
            f'Cannot read the Python installation: {forbidden}; install the worker with a Python '
            'that its user can read'
        )


def own_name() -> str:
    """Return the name of the effective user, or its id if it has no name."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def check(conf: cfg.ConfigOpts) -> Result:
    """Check the files that a worker writes; other checks open the files that it reads.

    :returns: a failure if the worker cannot start, else a warning if it cannot write a file.
    """
    user = own_name()
    found = [_finding(option, path, user) for option, path in _written(conf)]
    details = '; '.join(one.details for one in found if one.details)
    code = max((one.code for one in found), default=Code.SUCCESS)
    return Result(code, details or f'Checked the permissions of user {user}')


def _finding(option: str, path: str, user: str) -> Result:
    """Return whether a user can write a file, and the remedy if not."""
    wrong = Code.WARNING if option in NOT_OPENED_AT_START else Code.FAILURE
    folder = os.path.dirname(path) or '.'
    if not os.path.isdir(folder):
        if folder in UNIT_FOLDERS:
            return Result(
                Code.WARNING,
                f'{option}: folder {folder} does not exist; placement-worker.service creates it',
            )
        text = f'folder {folder} does not exist, or user {user} cannot reach it; create it'
        return Result(wrong, f'{option}: {text}, and let user {user} write to it')
    if option in FILES and os.path.isdir(path):
        return Result(wrong, f'{option}: {path} is a folder; name a file in it')
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        return Result(wrong, f'{option}: user {user} cannot write {path}')
    return Result(Code.SUCCESS)


def _is_forbidden(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:  # a folder in the path need not exist
        pass
    return False


def _written(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str]]:
    """Yield each option that names a file or a folder to write, and its path.

    The path of a folder in which a worker creates files ends with a slash.
    """
    for option, path in (
        (LOG_FILE, conf.log_file and os.path.join(conf.log_dir or '', conf.log_file)),
        ('[DEFAULT] log_dir', conf.log_dir and not conf.log_file and _inside(conf.log_dir)),
        (DECISION_LOG, conf.decision_log.file),
        ('[metrics] folder', _first_created(conf.metrics.folder) if conf.metrics.port else None),
        (REPORTS, conf.oslo_reports.log_dir and _inside(conf.oslo_reports.log_dir)),
    ):
        if path:
            yield option, path
    if conf.worker.liveness_file:
        # The worker replaces this file by a rename, so its folder must be writable.
        yield LIVENESS, _inside(os.path.dirname(conf.worker.liveness_file) or '.')


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
