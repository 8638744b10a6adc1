"""Colours for people who look at a terminal; scripts, files and pipes get plain text."""

import os
from collections.abc import Mapping
from typing import Literal, TextIO

from placement_worker.formats.escaping import escaped

Style = Literal['bold', 'dim', 'red', 'green', 'yellow', 'cyan']
_CODES: Mapping[Style, int] = {
    'bold': 1,
    'dim': 2,
    'red': 31,
    'green': 32,
    'yellow': 33,
    'cyan': 36,
}


class Paint:
    """Escapes text, and colours it on a terminal."""

    def __init__(self, on: bool) -> None:
        self._on = on

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> 'Paint':
        """For a terminal that has colours, unless the user wants none (https://no-color.org)."""
        return cls(
            stream.isatty() and not environ.get('NO_COLOR') and environ.get('TERM') != 'dumb'
        )

    def __call__(self, text: str, style: Style) -> str:
        """Return the text, escaped, in a style."""
        shown = escaped(text)
        return f'\x1b[{_CODES[style]}m{shown}\x1b[0m' if self._on and shown else shown


PLAIN = Paint(on=False)
