"""Mask secrets in free-form data, for decision logs and for parked requests.

A text or a number is masked if its key, or the key of a map or list around it, names a secret.
Within other texts, passwords of URLs, credentials of `Authorization` and `Cookie` headers, private
keys, and the values of settings and arguments that name a secret are masked. Some values are masked
needlessly (`secretary: Bob`), since exact rules would be complex.
"""

import base64
import re
from collections.abc import Collection
from typing import Any

import msgspec

MASK = '***'
# Parts of the names of secrets; case, `_` and `-` are ignored.
_WORDS = (
    'passw', 'passphrase', 'admin_pass', 'pwd', 'secret', 'token', 'trust', 'credential',
    'user_data', 'private_key', 'api_key', 'ssh_key', 'access_key', 'cookie',
)  # fmt: skip
_BARE_WORDS = tuple(word.replace('_', '').encode() for word in _WORDS)
# Parts that are common inside harmless words.
_SHORT = (b'pass', b'pw', b'auth')
_PASSWORDS = tuple(word for word in _BARE_WORDS if any(short in word for short in _SHORT))
_OTHERS = tuple(word for word in _BARE_WORDS if word not in _PASSWORDS)
_MARKS = (b'://', b'bearer', b'basic ', b'private key', *_OTHERS)
# `pass` and `pw` as separate words, e.g. db_pass, dbPass and OS_PASS, but not bypass or passive.
# `auth` and `authorization` match only at the end of a name, so auth_url and auth_type are not
# masked.
_ALONE = re.compile(
    rb'(?<![A-Za-z])(?:(?:[Pp]ass|[Pp]w)(?![a-z])|(?:PASS|PW)(?![A-Za-z]))|(?<=[a-z])(?:Pass|Pw)(?![a-z])'
    rb'|(?:(?<![A-Za-z])(?:[Aa]uth|AUTH)|(?<=[a-z])Auth)(?i:orization)?(?![\w-])'
)
# Match up to the last `@`, since a password may hold any character; exclude ports and paths.
_USER_OF_URL = re.compile(r'(?<=://)(?:[^/?#\s:@[]{0,256}:(?!\d+[/?#])\S{1,256}|[^/?#\s]+)(?=@)')
_PARAMETER_OF_URL = re.compile(r'(?<=[?&;#])([^=?&;#\s]+)=[^&;#\s]+')
_PRIVATE_KEY = re.compile(
    r'(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----).*?(?=-----END|\Z)', re.DOTALL
)
_COOKIE = re.compile(r'(\bcookie[ \t]{0,8}:[ \t]{0,8})[^"\'\r\n]+', re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"""(\bauthorization[\\"']{0,8}[ \t]{0,8}[:=][ \t]{0,8}[\\"']{0,8}"""
    r"""(?:(?:basic|bearer|digest|negotiate|token)[ \t]{1,8})?)[^\s\\"',;]+""",
    re.IGNORECASE,
)
_BEARER = re.compile(r'\b(bearer\s+)[^\s"\',;]+', re.IGNORECASE)
_BASIC = re.compile(r'\b(basic\s+)([\w+/-]+=*)', re.IGNORECASE)
_WORD = '|'.join(
    (
        *(word.replace('_', '[_-]?') for word in _WORDS),
        r'\b(?:pass|pw)\b',
        '_(?:pass|pw)(?![a-z])',
        r'(?:\b|_)auth(?![\w-])',
    )
)
_NAME = rf'(?<![\w.-])[\w.-]{{0,64}}?(?:{_WORD})[\w.-]{{0,64}}'
_NEXT_LINE = r"""(?:[|>][+-]?[ \t]{0,8})?\r?\n[ \t]{1,64}(?![\w.-]{1,64}["']?[ \t]{0,8}[:=])"""
_ESCAPED = r"""\\+"(?:[^"]|(?<=\\\\)")*"?"""
_QUOTED = r""""(?:[^"\\]|\\.|"")*"?|'(?:[^'\\]|\\.|'')*'?"""
# Match `NAME=VALUE`, `NAME: VALUE` and `--NAME VALUE`. A value may be quoted, in JSON inside a text
# (`_ESCAPED`), or indented on the next line, unless that line is a setting itself. The lengths are
# bounded to keep the time for hostile texts linear. An unclosed quote ends with the text.
_SETTING = re.compile(
    rf"""({_NAME}(?:\\{{0,8}}["'])?[ \t]{{0,8}}[:=][ \t]{{0,8}}(?:{_NEXT_LINE})?"""
    rf"""|(?=-){_NAME}\s{{1,8}})"""
    rf"""({_ESCAPED}|{_QUOTED}|[^\s"',;&]+)""",
    re.IGNORECASE | re.DOTALL,
)
_SEPARATOR = re.compile(r'[\s=:]')
# Keys of a pair in a list, e.g. `{name: OS_PASSWORD, value: ...}` of an environment.
_NAME_KEYS, _VALUE_KEYS = ('name', 'key', 'Name', 'Key', 'NAME', 'KEY'), ('value', 'Value', 'VALUE')


def masked(encoded: bytes) -> bytes:
    """Return JSON with its secrets masked at any depth; free-form maps may hold them."""
    # Most lines need no masking, and this search costs little.
    if may_hold_secrets(encoded):
        return msgspec.json.encode(without_secrets(msgspec.json.decode(encoded)))
    return encoded


def may_hold_secrets(text: bytes) -> bool:
    return _holds(_MARKS, text)


def without_secrets(data: Any) -> Any:
    """Mask secrets in plain data in place: by the names of values, and inside texts."""
    whole = [data]
    known: dict[str, bool] = {}  # caches `is_secret`: maps repeat few keys
    # No recursion, since data may be nested as deeply as the JSON decoder allows.
    left: list[tuple[Any, bool]] = [(whole, False)]
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
    if not any(key in pair for key in _VALUE_KEYS):
        return False
    return any(isinstance(name, str) and is_secret(name) for name in map(pair.get, _NAME_KEYS))


def _is_flag(item: object) -> bool:
    """Return whether the next item of a list of arguments is secret, as in `[--password, x]`."""
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
        text = _PRIVATE_KEY.sub(rf'\1{MASK}', text)
        text = _AUTHORIZATION.sub(rf'\1{MASK}', _COOKIE.sub(rf'\1{MASK}', text))
        text = _BASIC.sub(_basic, _BEARER.sub(rf'\1{MASK}', text))
        text = _SETTING.sub(rf'\1{MASK}', text)
    return text


def _parameter(match: re.Match[str]) -> str:
    return f'{match[1]}={MASK}' if is_secret(match[1]) else match[0]


def _basic(match: re.Match[str]) -> str:
    """Mask a user and a password in base64, but not the next word of a sentence."""
    try:
        decoded = base64.b64decode(
            match[2] + '==', altchars=b'-_' if set(match[2]) & set('-_') else None
        )
    except ValueError:
        return match[0]
    return match[1] + MASK if b':' in decoded else match[0]


def is_secret(name: str) -> bool:
    return _holds(_OTHERS, name.encode(errors='replace'))


def _holds(marks: Collection[bytes], text: bytes) -> bool:
    bare = text.lower().translate(None, b'_-')
    if any(mark in bare for mark in marks):
        return True
    if not any(short in bare for short in _SHORT):
        return False
    return any(word in bare for word in _PASSWORDS) or _ALONE.search(text) is not None
