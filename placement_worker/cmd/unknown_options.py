"""Sections and options of configuration files that no installed package reads.

Most are misspelled, and oslo.config ignores them without a word. `oslo-config-validator` finds them
too, but suggests no names, and needs the files and the namespaces of all packages as arguments.
"""

import glob
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

from oslo_config import cfg

from placement_worker.config.options import SERVICE_AUTH
from placement_worker.formats.text import nearest

ENTRY_POINTS = 'oslo.config.opts'  # by which packages list their options
# Libraries read more options than they list, e.g. [oslo_messaging_tracing].
INCOMPLETE_PREFIX = 'oslo_'


def files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the files of a configuration: those of --config-file and of --config-dir."""
    folders = (glob.glob(os.path.join(folder, '*.conf')) for folder in conf.config_dir)
    return [*conf.config_file, *(file for folder in folders for file in sorted(folder))]


def find(paths: Iterable[str]) -> list[str]:
    """Return a message for each unknown section or option of files and of the environment.

    The options of an auth plugin are not listed, so [service_auth] and the section that its
    auth_section names are not checked.
    """
    known, parsed = _known_options(), {path: _parse(path) for path in paths}
    parsed['the environment'] = _environment()
    auth_sections = (
        name
        for sections in parsed.values()
        for section, options in sections.items()
        if _normalized(section) == SERVICE_AUTH
        for name in options.get('auth_section', ())
    )
    unchecked = {SERVICE_AUTH, *map(_normalized, auth_sections)}
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
    near = nearest(name.lower(), spellings)
    return f' (did you mean {spellings[near]}?)' if near else ''


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
