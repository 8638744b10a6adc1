"""Check that the properties of a plugin have a JSON Schema and valid defaults."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, structs

from placement_worker.formats.text import shortened

MAX_CAUSE = 300
"""The number of characters of an error's text that a reason shows."""


def problems(versions: Mapping[str, type[Struct]]) -> Iterator[str]:
    """Yield a sentence per version whose properties cannot be shown or decoded.

    :param versions: version -> schema of the properties.
    """
    for version, schema in versions.items():
        try:
            msgspec.json.encode(msgspec.json.schema(schema))
        except Exception as exc:  # the annotations are code of the plugin
            named = _without_schema(schema)
            what = f'property {named} of version {version} has' if named else ''
            what = what or f'the properties of version {version} have'
            yield f'{what} no JSON Schema: {described(exc)}'
        else:
            yield from _wrong_defaults(version, schema)


def described(exc: BaseException) -> str:
    """Return the class and the text of an error in the code of a plugin."""
    # The last line of msgspec's text names the type; the others advise arguments of its functions.
    lines = str(exc).splitlines() or ['']
    text = lines[-1] if 'schema_hook' in str(exc) else str(exc)
    return shortened(f'{type(exc).__name__}: {text}', MAX_CAUSE)


def _without_schema(schema: type[Struct]) -> str | None:
    """Return the first property whose type has no JSON Schema, if the types can be resolved."""
    try:
        found = structs.fields(schema)
    except Exception:  # as above
        return None
    for one in found:
        try:
            msgspec.json.encode(msgspec.json.schema(one.type))
        except Exception:  # as above
            return one.encode_name
    return None


def _wrong_defaults(version: str, schema: type[Struct]) -> Iterator[str]:
    """Yield a sentence per property whose default a spec could not state."""
    for one in structs.fields(schema):
        try:
            default = _default(one)
            if default is not UNSET:
                msgspec.json.decode(msgspec.json.encode(default), type=one.type)
        except Exception as exc:  # a factory is code of the plugin
            name = f'property {one.encode_name} of version {version}'
            yield f'the default of {name} is invalid: {described(exc)}'


def _default(field: structs.FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return UNSET if field.default is NODEFAULT else field.default
