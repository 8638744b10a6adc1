"""Sections and options of configuration files that no installed package reads.

Most are misspelled. oslo-config-validator cannot find them at the start of a worker. It needs the
files and the namespaces as arguments, and ends with a traceback if one package cannot list its
options. It also does not suggest names.
"""

import difflib
import glob
import logging
import multiprocessing
import os
import re
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from oslo_config import cfg

from placement_worker.config.service_auth import GROUP

ENTRY_POINTS = 'oslo.config.opts'
"""The entry points by which packages list their options."""
INCOMPLETE_PREFIX = 'oslo_'
"""Prefix of sections of libraries that read more options than they list, e.g.
oslo_messaging_tracing.
"""
CHECK_TIMEOUT_S = 10
"""The time limit of the check, which takes about 0.2 s; a start waits for it."""
SIGNALS = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM})
"""The signals that the check may get: SIGHUP and SIGINT of cotyledon, and SIGTERM at a stop."""
LOG = logging.getLogger(__name__)


def files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the files of a configuration: those of --config-file and of --config-dir."""
    folders = (glob.glob(os.path.join(folder, '*.conf')) for folder in conf.config_dir)
    return [*conf.config_file, *(file for folder in folders for file in sorted(folder))]


def warn(conf: cfg.ConfigOpts) -> None:
    """Log a warning for each unknown option; a failure of the check is logged and not raised.

    The check runs in a child process: it imports modules of all installed packages that have
    options. They take 13 MB, and a broken one may hang or end the process.
    """
    child = multiprocessing.get_context('fork').Process(
        target=_check, args=(files(conf),), daemon=True
    )
    try:
        with _signals_blocked():
            child.start()
    except OSError as exc:
        LOG.warning('Cannot check for unknown options: %s', exc)
        return
    child.join(CHECK_TIMEOUT_S)
    if child.is_alive():
        child.kill()
        child.join()
    if child.exitcode and -child.exitcode not in SIGNALS:  # a stop is no failure
        LOG.warning(
            'Cannot check for unknown options: the check ended with status %s; to see why, run '
            'placement-worker-status upgrade check',
            child.exitcode,
        )


@contextmanager
def _signals_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check(paths: Sequence[str]) -> None:
    _detach_signals()
    _warn(paths)


def _detach_signals() -> None:
    """Detach the child from the signal pipe of its parent, which a fork inherits.

    Otherwise a SIGHUP to all processes would be written to this pipe, and the parent would reload
    again.
    """
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _warn(paths: Sequence[str]) -> None:
    for unknown in find(paths):
        LOG.warning('%s', unknown)


def find(paths: Iterable[str]) -> list[str]:
    """Return a message for each unknown section or option of files and of the environment.

    A message names the file, and suggests the nearest known name if there is one. The options of an
    auth plugin are not listed, so [service_auth] and the section that its auth_section names are
    not checked.
    """
    known, parsed = _known_options(), {path: _parse(path) for path in paths}
    parsed['the environment'] = _environment()
    auth_sections = (
        name
        for sections in parsed.values()
        for section, options in sections.items()
        if _normalized(section) == GROUP
        for name in options.get('auth_section', ())
    )
    unchecked = {GROUP, *map(_normalized, auth_sections)}
    return [
        f'{unknown} in {path}; it has no effect'
        for path, sections in parsed.items()
        for unknown in _unknown_options(sections, known, unchecked)
    ]


def _unknown_options(
    sections: dict[str, Any], known: dict[str, set[str]], unchecked: set[str]
) -> Iterator[str]:
    for section, options in sections.items():
        group = _normalized(section)
        if group in unchecked:
            continue
        if group in known:
            for option in options:
                name = option.replace('-', '_')
                if name not in known[group]:
                    yield f'Unknown option [{section}] {option}{_suggestion(name, known[group])}'
        elif not group.startswith(INCOMPLETE_PREFIX):
            yield f'Unknown section [{section}]{_suggestion(section, {*known, *unchecked})}'


def _normalized(section: str) -> str:
    """Return the name by which oslo.config looks up a section."""
    return section if section == 'DEFAULT' else section.lower()


def _suggestion(name: str, known: Iterable[str]) -> str:
    spellings = {spelling.lower(): spelling for spelling in known}
    near = difflib.get_close_matches(name.lower(), spellings, n=1)
    return f' (did you mean {spellings[near[0]]}?)' if near else ''


def _parse(path: str) -> dict[str, Any]:
    sections: dict[str, Any] = {}
    cfg.ConfigParser(path, sections).parse()
    return sections


def _environment() -> dict[str, Any]:
    """Return the options that variables name, such as OS_WORKER__WORKERS."""
    sections: dict[str, Any] = defaultdict(dict)
    for name in os.environ:
        if variable := re.fullmatch(r'OS_(\w+?)__(\w+)', name):
            group = variable[1] if variable[1] == 'DEFAULT' else variable[1].lower()
            sections[group][variable[2].lower()] = [os.environ[name]]
    return sections


def _known_options() -> dict[str, set[str]]:
    """Return the options of all installed packages by section, under all names of each option."""
    known: dict[str, set[str]] = defaultdict(set)
    for entry_point in metadata.entry_points(group=ENTRY_POINTS):
        try:
            listed = entry_point.load()()
        except (Exception, SystemExit):  # noqa: S112  # a package without its dependencies reads no options here
            continue
        for group, options in listed:
            section = str(getattr(group, 'name', group) or 'DEFAULT')
            for option in options:
                for where, name in _names(section, option):
                    known[_normalized(where)].add(name.replace('-', '_'))
    return known


def _names(section: str, option: Any) -> Iterator[tuple[str, str]]:
    yield section, option.name
    yield section, option.dest
    for old in option.deprecated_opts:
        yield old.group or section, old.name or option.name
