"""Colours for people who look at a terminal; scripts, files and pipes get plain text."""

import os
from collections.abc import Mapping
from typing import Literal, TextIO

Style = Literal['bold', 'dim', 'red', 'green', 'yellow', 'cyan']
_CODES: Mapping[Style, int] = {'bold': 1, 'dim': 2, 'red': 31, 'green': 32, 'yellow': 33, 'cyan': 36}


class Paint:
    """Colours text, or leaves it alone."""

    def __init__(self, on: bool) -> None:
        self._on = on

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> 'Paint':
        """For a terminal that has colours, unless the user wants none (https://no-color.org)."""
        return cls(stream.isatty() and not environ.get('NO_COLOR') and environ.get('TERM') != 'dumb')

    def __call__(self, text: str, style: Style) -> str:
        """The text in a style."""
        return f'\x1b[{_CODES[style]}m{text}\x1b[0m' if self._on and text else text


PLAIN = Paint(on=False)
