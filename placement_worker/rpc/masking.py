"""Mask secrets in free-form data, for decision logs and for parked requests.

A text or a number is secret by its name, or inside of what has such a name. In other texts, passwords of addresses,
credentials of `Authorization` headers, and values of settings and arguments with such a name are masked.
"""

import base64
import re
from typing import Any

import msgspec

MASK = '***'
_WORDS = (
    'passw', 'passphrase', 'admin_pass', 'pwd', 'secret', 'token', 'trust', 'credential', 'user_data', 'private_key',
    'api_key', 'ssh_key', 'access_key',
)  # fmt: skip
"""Parts that the names of secrets have in common; case, `_` and `-` do not count."""
_BARE_WORDS = tuple(word.replace('_', '').encode() for word in _WORDS)
_PASSWORDS = tuple(word for word in _BARE_WORDS if b'pass' in word)
_OTHERS = tuple(word for word in _BARE_WORDS if b'pass' not in word)
_MARKS = (b'://', b'bearer', b'basic ', *_OTHERS)
_PASS = re.compile(rb'(?<![A-Za-z])(?:[Pp]ass(?![a-z])|PASS(?![A-Za-z]))|(?<=[a-z])Pass(?![a-z])')
"""`pass` as a word of its own, e.g. db_pass, dbPass and OS_PASS, but not bypass or passive."""
_USER_OF_URL = re.compile(r'(?<=://)[^/?#\s]+(?=@)')
_PARAMETER_OF_URL = re.compile(r'(?<=[?&;#])([^=?&;#\s]+)=[^&;#\s]+')
_BEARER = re.compile(r'\b(bearer\s+)[^\s"\',;]+', re.IGNORECASE)
_BASIC = re.compile(r'\b(basic\s+)([\w+/-]+=*)', re.IGNORECASE)
_WORD = '|'.join((*(word.replace('_', '[_-]?') for word in _WORDS), r'\bpass\b', '_pass(?![a-z])'))
_NAME = rf'(?<![\w.-])[\w.-]{{0,64}}?(?:{_WORD})[\w.-]{{0,64}}'
_SETTING = re.compile(
    rf"""({_NAME}["']?[ \t]{{0,8}}[:=][ \t]{{0,8}}|(?=-){_NAME}\s{{1,8}})("[^"]*"|'[^']*'|[^\s"',;&]+)""",
    re.IGNORECASE,
)
"""`NAME=VALUE`, `NAME: VALUE`, `--NAME VALUE`; lengths are bounded to keep the time for hostile texts linear."""
_SEPARATOR = re.compile(r'[\s=:]')
_NAME_KEYS, _VALUE_KEYS = ('name', 'key', 'Name', 'Key'), ('value', 'Value')
"""Keys of a pair in a list, e.g. `{name: OS_PASSWORD, value: ...}` of an environment."""


def masked(encoded: bytes) -> bytes:
    """JSON without what is secret by its name, at whatever depth: free-form maps may hold it."""
    # Most lines need no masking; to find that out this way costs next to nothing.
    if may_hold_secrets(encoded):
        return msgspec.json.encode(without_secrets(msgspec.json.decode(encoded)))
    return encoded


def may_hold_secrets(text: bytes) -> bool:
    """Whether a word stands in it that names or texts of secrets have, or an address."""
    bare = _bare(text)
    return any(mark in bare for mark in _MARKS) or _holds_password(bare, text)


def without_secrets(data: Any) -> Any:
    """Mask secrets in plain data, in place: by the names of texts and numbers, and in texts."""
    whole = [data]
    known: dict[str, bool] = {}  # whether a key is the name of a secret; few keys, each in many maps
    left: list[tuple[Any, bool]] = [(whole, False)]  # no recursion: data may be as deep as JSON was read
    while left:
        container, inside = left.pop()
        if isinstance(container, dict):
            named = _names_secret(container)
            for key, item in container.items():
                if (secret := known.get(key)) is None:
                    secret = known[key] = is_secret(key)
                secret = inside or secret or (named and key in _VALUE_KEYS)
                if isinstance(item, (dict, list)):
                    left.append((item, secret))
                else:
                    container[key] = _masked(item, secret)
        else:
            after_flag = False
            for position, item in enumerate(container):
                if isinstance(item, (dict, list)):
                    left.append((item, inside))
                else:
                    container[position] = _masked(item, inside or after_flag)
                after_flag = _is_flag(item)
    return whole[0]


def _names_secret(pair: dict[str, Any]) -> bool:
    """Whether a map is a pair of a name and a value of which the name is that of a secret."""
    if not any(key in pair for key in _VALUE_KEYS):
        return False
    return any(isinstance(name, str) and is_secret(name) for name in map(pair.get, _NAME_KEYS))


def _is_flag(item: object) -> bool:
    """Whether the next item of a list of arguments is secret, as in `[--password, x]`."""
    return isinstance(item, str) and item.startswith('-') and '=' not in item and is_secret(item)


def _masked(value: Any, secret: bool) -> Any:
    if isinstance(value, str) and value:
        return MASK if secret else _text_without_secrets(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return MASK if secret else value
    return value


def _text_without_secrets(text: str) -> str:
    if '://' in text:
        text = _PARAMETER_OF_URL.sub(_parameter, _USER_OF_URL.sub(MASK, text))
    if _SEPARATOR.search(text) and may_hold_secrets(text.encode(errors='replace')):
        text = _BASIC.sub(_basic, _BEARER.sub(rf'\1{MASK}', text))
        text = _SETTING.sub(rf'\1{MASK}', text)
    return text


def _parameter(found: re.Match[str]) -> str:
    return f'{found[1]}={MASK}' if is_secret(found[1]) else found[0]


def _basic(found: re.Match[str]) -> str:
    """Mask what is a user and a password in base64, and no word of a sentence."""
    try:
        decoded = base64.b64decode(found[2] + '==', altchars=b'-_' if set(found[2]) & set('-_') else None)
    except ValueError:
        return found[0]
    return found[1] + MASK if b':' in decoded else found[0]


def is_secret(name: str) -> bool:
    """Whether a name is that of a secret."""
    text = name.encode(errors='replace')
    bare = _bare(text)
    return any(word in bare for word in _OTHERS) or _holds_password(bare, text)


def _holds_password(bare: bytes, text: bytes) -> bool:
    if b'pass' not in bare:
        return False
    return any(word in bare for word in _PASSWORDS) or _PASS.search(text) is not None


def _bare(text: bytes) -> bytes:
    return text.lower().translate(None, b'_-')
