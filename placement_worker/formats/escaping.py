r"""Escape untrusted text so that it stays on one line and cannot control a terminal or a log.

Each character that Python does not call printable is replaced by its JSON escape: control
characters (C0, DEL, C1), line and paragraph separators, bidirectional overrides and other invisible
characters, lone surrogates. Backslashes stay unchanged. Escaping is therefore idempotent, and it
does not change the meaning of encoded JSON.
"""

import json


def escaped(text: str) -> str:
    r"""Return the text on one line; an escape character becomes `\u001b`, a line break `\n`."""
    if text.isprintable():
        return text
    return ''.join(char if char.isprintable() else _escape(char) for char in text)


def escaped_lines(text: str) -> str:
    """Return a text of several lines, e.g. indented JSON, with each line escaped."""
    return '\n'.join(escaped(line) for line in text.split('\n'))


def _escape(char: str) -> str:
    return '\\u007f' if char == '\x7f' else json.dumps(char)[1:-1]  # json leaves DEL unescaped
