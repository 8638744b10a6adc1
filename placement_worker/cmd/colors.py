"""Colors for terminals; scripts, files and pipes get plain text."""

import os
from collections.abc import Mapping
from typing import Literal, TextIO

from placement_worker.formats.text import escaped

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
    """A painter that escapes text, and colors it on a terminal."""

    def __init__(self, on: bool) -> None:
        self._on = on

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> 'Paint':
        """Return a painter that honors `NO_COLOR` (https://no-color.org) and dumb terminals."""
        return cls(
            stream.isatty() and not environ.get('NO_COLOR') and environ.get('TERM') != 'dumb'
        )

    def __call__(self, text: str, style: Style) -> str:
        """Return the escaped text in a style."""
        shown = escaped(text)
        return f'\x1b[{_CODES[style]}m{shown}\x1b[0m' if self._on and shown else shown


PLAIN = Paint(on=False)
