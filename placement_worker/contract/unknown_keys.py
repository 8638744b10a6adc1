"""Find the keys of a document that the contract does not list."""

import difflib
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec
from msgspec import inspect

from placement_worker.contract.codec import bare
from placement_worker.contract.model import Excerpt, Node
from placement_worker.formats import paths
from placement_worker.formats.paths import Path
from placement_worker.formats.text import listed, shortened

# The keys of a node's data that policies read. The map is free-form, but a node with a misspelled
# key would have no place, no member or no protection.
NODE_DATA = ('placement', 'lb_member', 'lb_members', 'protected')
# This admits two missing letters (`protect`), and no suffix with a meaning of its own
# (`placement_group`, `lb_member_id`).
SIMILAR = 0.87


class UnknownKey(NamedTuple):
    """An unknown key, the path of its object, and the keys that the contract lists there."""

    path: Path
    key: object
    known: Collection[str]

    def __str__(self) -> str:
        return f'`{paths.shown(self.path)}.{self._shown}`{self._hint}'

    def described(self) -> str:
        """Return the key with the known key that is probably meant, else with the known keys."""
        known = listed(self.known, lambda key: f'`{key}`')
        return f'`{self._shown}`' + (self._hint or f', expected one of {known}')

    @property
    def _shown(self) -> str:
        key = self.key if isinstance(self.key, str) else msgspec.json.encode(self.key).decode()
        return shortened(key)

    @property
    def _hint(self) -> str:
        near = difflib.get_close_matches(self._shown, self.known, n=1)
        return f' (did you mean `{near[0]}`?)' if near else ''


def described(document: object, kind: type) -> str:
    """Return the first unknown keys and the number of the others; an empty text for none."""
    return listed(found(document, kind))


def found(document: object, kind: type) -> Iterator[UnknownKey]:
    """Yield the unknown keys of a document; free-form maps and excerpts may have any key."""
    yield from _found(document, inspect.type_info(kind), ())


def _found(raw: object, kind: inspect.Type, path: Path) -> Iterator[UnknownKey]:
    kind = bare(kind)
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)) and isinstance(raw, list):
        for i, item in enumerate(raw):
            yield from _found(item, kind.item_type, (*path, i))
    elif isinstance(kind, inspect.StructType) and isinstance(raw, dict):
        if issubclass(kind.cls, Excerpt):
            return
        known = {field.encode_name: field.type for field in kind.fields}
        for key, value in raw.items():
            if key not in known:
                yield UnknownKey(path, key, known)
            else:
                yield from _found(value, known[key], (*path, str(key)))
        if issubclass(kind.cls, Node) and isinstance(raw.get('data'), dict):
            misspelled = filter(is_misspelled, raw['data'])
            yield from (UnknownKey((*path, 'data'), key, NODE_DATA) for key in misspelled)


def is_misspelled(key: object) -> bool:
    """Return whether a key of a node's data is almost one that policies read.

    Typing errors rarely change the first letter; another word (`replacement`) often has another.
    """
    if not isinstance(key, str) or key in NODE_DATA:
        return False
    alike = [name for name in NODE_DATA if name[0] == key[:1].lower()]
    return bool(difflib.get_close_matches(shortened(key), alike, n=1, cutoff=SIMILAR))
