"""Read the field lists in the content of directives.

This module does not import Sphinx, so that tools and tests can read the pages, too.
"""

import re
from collections.abc import Iterable, Iterator

ROLE = re.compile(r':\w+:`(?:[^`<]*<)?([^`<>]+)>?`')


def descriptions(content: Iterable[str]) -> dict[str, str]:
    """Return a field list by key; other lines continue the field before."""
    found: dict[str, str] = {}
    for line in content:
        key, colon, text = line[1:].partition(': ') if line.startswith(':') else ('', '', '')
        if colon:
            found[key] = text.strip()
        elif line.strip():
            found[next(reversed(found))] += f' {line.strip()}'
    return found


def columns(content: Iterable[str]) -> dict[str, list[str]]:
    """Return a field list by key, whose entries have columns that a bar separates."""
    found = descriptions(content)
    return {key: [cell.strip() for cell in entry.split(' | ')] for key, entry in found.items()}


def of_directives(page: str, directive: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the argument and the lines of each directive of this name in a page."""
    pattern = rf'^\.\. {re.escape(directive)}::(.*)\n((?:\n| +.*\n)*)'
    for argument, content in re.findall(pattern, f'{page}\n', re.MULTILINE):
        yield argument.strip(), [line.removeprefix('   ') for line in content.splitlines()]


def plain_text(description: str) -> str:
    """Return a description without markup."""
    named = ROLE.sub(r'section "\1" of the manual', description)
    return named.replace('``', '')
