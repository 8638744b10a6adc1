"""Reload of the options that may change while the worker runs.

Files with which a worker would not start change nothing: a running worker goes on with its options,
and its log has the error. Of the parent and its processes, the parent alone logs the changes.
"""

import logging
import os
from typing import Any

from oslo_config import cfg

from placement_worker.config import validation
from placement_worker.worker import log_escaping
from placement_worker.worker.startup import STARTUP_ERRORS, describe_error

LOG = logging.getLogger(__name__)
OF_OPTIONS = logging.getLogger(cfg.__name__)  # names each option that has changed


def reload(conf: cfg.ConfigOpts, *, logs_changes: bool = True) -> None:
    """Read the files again and apply the mutable options.

    :param logs_changes: False in the processes, whose parent logs the same changes. Errors are
        always logged.
    """
    try:
        validation.validate_files(conf)
    except STARTUP_ERRORS as exc:
        LOG.error('Kept the current configuration: %s', describe_error(exc))
        return
    try:
        OF_OPTIONS.disabled = not logs_changes
        changed = conf.mutate_config_files()
    except Exception as exc:  # the file of log_config_append may have changed since its validation
        LOG.error('Reloaded the mutable options, but not those of the log: %s', exc)
        return
    finally:
        OF_OPTIONS.disabled = False
        # oslo.config 10.7 clears its cache before it reads the files. A thread that reads an option
        # meanwhile puts the old value back into the cache; this call clears the cache again.
        conf.register_opts([])
        log_escaping.escape_records()  # the file of log_config_append may have created handlers
    lines = sorted(_value_line(conf, group, name) for group, name in changed)
    path = conf.log_config_append
    LOG.log(
        logging.INFO if logs_changes else logging.DEBUG,
        'Reloaded the mutable options%s; changed options: %s',
        f' and {path}' if path else '',
        ', '.join(lines) or 'none',
    )


def _value_line(conf: cfg.ConfigOpts, group: str | None, name: str) -> str:
    """Return an option with its new value, which is the default if the file has none."""
    section: Any = conf[group] if group else conf
    name = name.replace('-', '_')
    return f'[{group or "DEFAULT"}] {name} = {section[name]}'


class ReloadableConfig:
    """A configuration that cotyledon.oslo_config_glue reloads with `reload`."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._parent = os.getpid()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)

    def mutate_config_files(self) -> None:
        # cotyledon 2.0 calls this in the other processes as well, which reload by themselves.
        if os.getpid() == self._parent:
            reload(self._conf)
