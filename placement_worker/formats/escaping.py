r"""Show text from outside on one line, without its effect on a log or a terminal.

Each character that Python does not call printable is replaced by its JSON escape: control
characters (C0, DEL, C1), line and paragraph separators, bidirectional overrides and other invisible
characters, lone surrogates. Backslashes stay as they are, so escaping is safe to repeat, and
escaping an encoded JSON text does not change its meaning.
"""

import json


def escaped(text: str) -> str:
    r"""Return the text on one line; an escape character becomes `\u001b`, a line break `\n`."""
    if text.isprintable():
        return text
    return ''.join(char if char.isprintable() else _escape(char) for char in text)


def escaped_lines(text: str) -> str:
    """Return a text whose line breaks are wanted, e.g. indented JSON, with each of its lines
    escaped.
    """
    return '\n'.join(escaped(line) for line in text.split('\n'))


def _escape(char: str) -> str:
    return (
        '\\u007f' if char == '\x7f' else json.dumps(char)[1:-1]
    )  # JSON has no escape of its own for DEL
