r"""Text for people: numbers with their nouns, bounded lists, and escapes for untrusted text.

Escaped text stays on one line and cannot control a terminal or a log. Each character that Python
does not call printable is replaced by its JSON escape: control characters (C0, DEL, C1), line and
paragraph separators, bidirectional overrides and other invisible characters, lone surrogates.
Backslashes stay unchanged. Escaping is therefore idempotent, and it does not change the meaning of
encoded JSON.
"""

import datetime
import difflib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar('T')

# The number of characters of a value, a key or an id that a message shows.
MAX_CHARACTERS = 80
# The number of items that a list in a message shows.
MAX_ITEMS = 5
# oslo.config's text about the file of an option.
_LOCATION = re.compile(r"LocationInfo\(location=<[^>]*>, detail='([^']*)'\)")
# Python's texts about a value that is not a number.
_NO_NUMBER = re.compile(r'invalid literal for int\(\)[^:]*: |could not convert string to float: ')


def counted(count: object, noun: str, plural: str = '') -> str:
    """Return a number with its noun, e.g. "1 node" or "3 nodes".

    :param plural: the plural of the noun, unless it is the noun with an "s".
    """
    return f'{count} {noun_for(count, noun, plural)}'


def noun_for(count: object, noun: str, plural: str = '') -> str:
    return noun if count == 1 else plural or f'{noun}s'


def listed(items: Iterable[T], show: Callable[[T], str] = str, limit: int = MAX_ITEMS) -> str:
    """Return the first items and the number of the others, e.g. "a, b and 3 more".

    :param show: returns the text of an item; it is called for the first items only.
    """
    remaining = iter(items)
    first = ', '.join(map(show, itertools.islice(remaining, limit)))
    more = sum(1 for _ in remaining)
    return f'{first} and {more} more' if more else first


def enumerated(names: Sequence[str]) -> str:
    """Return the names in words, e.g. "a, b and c", or the first ones as `listed` does."""
    if not 1 < len(names) <= MAX_ITEMS:
        return listed(names)
    return f'{", ".join(names[:-1])} and {names[-1]}'


def shortened(text: str, limit: int = MAX_CHARACTERS) -> str:
    return text if len(text) <= limit else text[:limit] + '...'


def did_you_mean(name: str, known: Iterable[str], quote: str = '`', cutoff: float = 0.6) -> str:
    """Return a hint to the known name that is probably meant, e.g. " (did you mean `id`?)", or ''.

    :param cutoff: the least similarity, for difflib.
    """
    near = nearest(name, known, cutoff)
    return '' if near is None else f' (did you mean {quote}{near}{quote}?)'


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def without_python(text: str) -> str:
    """Return oslo.config's text about the value of an option, without the Python in it."""
    return _NO_NUMBER.sub('expected a number, got ', _LOCATION.sub(r'\1', text))


def escaped(text: str) -> str:
    r"""Return the text on one line; an escape character becomes `\u001b`, a line break `\n`."""
    if text.isprintable():
        return text
    return ''.join(char if char.isprintable() else _escape(char) for char in text)


def escaped_lines(text: str) -> str:
    return '\n'.join(escaped(line) for line in text.split('\n'))


def _escape(char: str) -> str:
    return '\\u007f' if char == '\x7f' else json.dumps(char)[1:-1]  # json leaves DEL unescaped


def is_shown_detail(detail: str, value: object) -> bool:
    return bool(value) or detail == 'possible'  # a decision may say that nothing is possible


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def day_or_time(moment: datetime.datetime) -> str:
    """Return a time in ISO 8601; midnight in UTC is shown as the day that begins then."""
    text = moment.isoformat(timespec='seconds').replace('+00:00', 'Z')
    return text.removesuffix('T00:00:00Z')
