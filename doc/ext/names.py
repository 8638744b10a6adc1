"""Find the description of a name in code font.

This module does not import Sphinx, so that tests can read it.
"""

import re
from collections.abc import Iterator

OPTION = re.compile(r'\[(\w+)\](?: (\w+)(?: = .*)?)?')
PROGRAM = re.compile(r'(placement-policy|placement-worker-status)(?: (.+))?')
CLASS = re.compile(r'[A-Z]+[a-z]\w*')
DOTTED = re.compile(r'([a-z]+(?:[._][a-z]+)+)(?:-\d+\.\d+)?')


def option_of(name: str) -> tuple[str, str | None] | None:
    """Return group and option of `[worker] topic = a` or `[worker]`, or None for another name."""
    found = OPTION.fullmatch(name)
    return (found[1], found[2]) if found else None


def labels_of(name: str) -> Iterator[str]:
    """Yield the labels that may describe a name, the most precise one first.

    The names are commands, errors, objects of the contract, alerts, metrics, methods and policy
    types.
    """
    if found := PROGRAM.fullmatch(name):
        words = (found[2] or '').split()
        yield from (f'command-{"-".join(words[:count])}' for count in (2, 1) if words[count - 1 :])
        yield f'program-{found[1]}'
    elif CLASS.fullmatch(name):
        yield from (f'{kind}-{name.lower()}' for kind in ('error', 'contract', 'alert'))
    elif found := DOTTED.fullmatch(name):
        yield from (f'{kind}-{found[1]}' for kind in ('metric', 'method', 'policy-type'))
