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
LOG_FILE = '[DEFAULT] log_file'


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
    """Check the files that a worker writes; other checks open the files that it reads."""
    user, missing, refused = own_name(), [], []
    for option, path in _written(conf):
        folder = os.path.dirname(path) or '.'
        if os.path.isdir(folder):
            if option == LOG_FILE and os.path.isdir(path):
                refused.append(f'{option}: {path} is a folder; name a file in it')
            elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
                refused.append(f'{option}: user {user} cannot write {path}')
        elif os.path.isdir(os.path.dirname(folder)):
            missing.append(f'{option}: folder {folder} does not exist')
        else:
            refused.append(f'{option}: user {user} cannot reach {folder}, or it does not exist')
    if refused:
        return Result(Code.FAILURE, '; '.join(refused))
    if missing:
        return Result(
            Code.WARNING,
            f'{"; ".join(missing)}. RuntimeDirectory= and LogsDirectory= of the unit create them',
        )
    return Result(Code.SUCCESS, f'Checked the permissions of user {user}')


def _is_forbidden(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:  # a folder in the path need not exist
        pass
    return False


def _written(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str]]:
    """Yield each option that names a file to write, and the file."""
    for option, path in (
        (LOG_FILE, conf.log_file and os.path.join(conf.log_dir or '', conf.log_file)),
        ('[DEFAULT] log_dir', None if conf.log_file else conf.log_dir),
        ('[decision_log] file', conf.decision_log.file),
        ('[metrics] folder', conf.metrics.folder if conf.metrics.port else None),
        ('[oslo_reports] log_dir', conf.oslo_reports.log_dir),
    ):
        if path:
            yield option, path
    if conf.worker.liveness_file:
        # The worker replaces this file by a rename, so its folder must be writable.
        folder = os.path.dirname(conf.worker.liveness_file) or '.'
        yield '[worker] liveness_file', os.path.join(folder, '')
