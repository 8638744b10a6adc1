"""Sections and options of configuration files that nobody reads: most are slips."""

import difflib
import glob
import logging
import multiprocessing
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg

from placement_worker.config.service_auth import GROUP

LISTED = 'oslo.config.opts'
"""The entry points by which libraries list their options."""
UNLISTED = 'oslo_'
"""What sections of libraries begin with that read more than they list: oslo_messaging_tracing is
one.
"""

WARN_TIMEOUT_S = 10
"""How long a start waits for the warnings; listing all known options takes about 0.2 s."""
LOG = logging.getLogger(__name__)


def files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the files that a configuration was read from: those of --config-file and of
    --config-dir.
    """
    folders = (glob.glob(os.path.join(folder, '*.conf')) for folder in conf.config_dir)
    return [*conf.config_file, *(file for folder in folders for file in sorted(folder))]


def warn(conf: cfg.ConfigOpts) -> None:
    """Log a warning for each unknown option; nothing that goes wrong here is raised.

    A child process does it: listing the known options imports modules of all installed packages
    that have options. They take 13 MB, and a broken one may hang or end the process.
    """
    child = multiprocessing.get_context('fork').Process(
        target=_warn, args=(files(conf),), daemon=True
    )
    try:
        child.start()
    except OSError as exc:
        LOG.warning('Options were not checked for unknown names: %s', exc)
        return
    child.join(WARN_TIMEOUT_S)
    if child.is_alive():
        child.kill()
        child.join()
    if child.exitcode:
        LOG.warning(
            'Options were not checked for unknown names: the check ended with status %s. To see why, run '
            'placement-worker-status upgrade check',
            child.exitcode,
        )


def _warn(read: Sequence[str]) -> None:
    """In the child process."""
    for unknown in found(read):
        LOG.warning(
            'Unknown option in the configuration: %s. No installed package reads it', unknown
        )


def found(files: Iterable[str]) -> list[str]:
    """What stands in configuration files and no installed library lists, with the nearest that one
    does.

    Options of an auth plugin are listed by none, so [service_auth], and what its auth_section
    names, is not looked at.
    """
    known, parsed = _known(), [_parsed(file) for file in files]
    free = {
        GROUP,
        *(name for sections in parsed for name in sections.get(GROUP, {}).get('auth_section', ())),
    }
    return [told for sections in parsed for told in _strays(sections, known, free)]


def _strays(sections: dict[str, Any], known: dict[str, set[str]], free: set[str]) -> Iterator[str]:
    for section, options in sections.items():
        if section in free:
            continue
        group = section if section == 'DEFAULT' else section.lower()
        if group not in known:
            if group.startswith(UNLISTED):
                continue
            yield f'[{section}]{_meant(section, {*known, *free})}'
            continue
        for option in options:
            name = option.replace('-', '_')
            if name not in known[group]:
                yield f'[{section}] {option}{_meant(name, known[group])}'


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f' (did you mean {near[0]}?)' if near else ''


def _parsed(file: str) -> dict[str, Any]:
    sections: dict[str, Any] = {}
    cfg.ConfigParser(file, sections).parse()
    return sections


def _known() -> dict[str, set[str]]:
    """Section -> its options, by all names that they have or had."""
    known: dict[str, set[str]] = defaultdict(set)
    for point in metadata.entry_points(group=LISTED):
        try:
            listed = point.load()()
        except (Exception, SystemExit):  # noqa: S112  # a library that is half installed is none that reads options here
            continue
        for group, options in listed:
            section = str(getattr(group, 'name', group) or 'DEFAULT')
            for option in options:
                for where, name in _names(section, option):
                    known[where if where == 'DEFAULT' else where.lower()].add(
                        name.replace('-', '_')
                    )
    return known


def _names(section: str, option: Any) -> Iterator[tuple[str, str]]:
    yield section, option.name
    yield section, option.dest
    for old in option.deprecated_opts:
        yield old.group or section, old.name or option.name
