"""Types of the contract that refuse unknown keys, at the speed of decoding."""

import functools
from types import UnionType, new_class
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from placement_worker.contract.model import Excerpt

S = TypeVar('S', bound=Struct)


@functools.cache
def strict(kind: type[S]) -> type[S]:
    """Return a subtype of `kind` that refuses any other key, at any depth.

    Free-form maps and excerpts accept any key.
    """
    fields = structs.fields(kind)
    members: dict[str, Any] = {one.name: _redeclared(one) for one in fields}
    members['__annotations__'] = {one.name: _strict(one.type) for one in fields}
    members['__module__'] = __name__
    # `defstruct` would reset the options that a subclass inherits, such as `frozen`.
    options = {'forbid_unknown_fields': True, 'kw_only': True}
    return new_class(kind.__name__, (kind,), options, lambda names: names.update(members))


def _redeclared(one: structs.FieldInfo) -> Any:
    """Return a declaration with the name and the default of a field, which may have no default."""
    name, default, factory = one.encode_name, one.default, one.default_factory
    return msgspec.field(name=name, default=default, default_factory=factory)  # type: ignore[call-overload]


def _strict(kind: Any) -> Any:
    """Return a type whose structs, also those in unions, containers and annotations, are strict."""
    origin = get_origin(kind)
    if origin is Annotated:
        return Annotated[_strict(kind.__origin__), *kind.__metadata__]
    if origin in (Union, UnionType):
        return Union[tuple(map(_strict, get_args(kind)))]  # noqa: UP007
    if origin not in (None, Literal):
        return origin[tuple(map(_strict, get_args(kind)))]
    is_struct = isinstance(kind, type) and issubclass(kind, Struct)
    return strict(kind) if is_struct and not issubclass(kind, Excerpt) else kind
