"""Errors in the documents of files: all that can be found, each with its position."""

import itertools
from collections.abc import Iterator

from placement_worker import errors
from placement_worker.contract import codec, document_kinds, schema_errors
from placement_worker.contract.action_data import PlacesInData
from placement_worker.contract.model import Spec
from placement_worker.contract.schema_errors import SchemaError
from placement_worker.decisions import masking
from placement_worker.formats import paths, positions
from placement_worker.formats.documents import Document, DocumentError, Invalid, Problem
from placement_worker.formats.paths import Path
from placement_worker.formats.text import counted, escaped
from placement_worker.policies.registry import Registry, normalized, schema_of

MAX_FOUND = 1000
"""The number of errors after which the search in a document ends."""


def of(
    exc: errors.PlacementWorkerError,
    document: Document,
    kind: type,
    text: str,
    *,
    is_local: bool = False,
) -> Invalid:
    """Return all errors of a document, at least the one that refused it.

    :param kind: the type that the document should describe.
    :param text: the text of the error, with paths in the document.
    :param is_local: whether the request was decided with the policy types that are installed here.
    """
    found = in_data(exc, document.data, kind, is_local=is_local)
    if found:
        return document.invalid(found)
    path = paths.named_in(text)
    if path is None:
        return Invalid(document.source, [Problem(text, None)], 0)
    return document.invalid([SchemaError(path, text)])


def in_data(
    exc: errors.PlacementWorkerError, data: object, kind: type, *, is_local: bool = False
) -> list[SchemaError]:
    """Return the first `MAX_FOUND` errors of a document that a schema can find.

    The parameters are those of `of`.
    """
    if document_kinds.other_kind(data, kind.__name__):
        return []
    return list(itertools.islice(_all(exc, data, kind, is_local), MAX_FOUND))


def headline(error: Invalid, document: Document) -> str:
    """Return the only error with its position, or the number of errors."""
    count = len(error.problems) + error.more
    if count > 1:
        return f'{document.source.name}: {_least(count)}{counted(count, "error")}'
    (problem,) = error.problems
    if problem.position is None:
        return f'{document.source.name}, document {document.number}: {problem.text}'
    return _located(document.source.name, problem)


def details(error: DocumentError) -> Iterator[str]:
    """Yield the lines that show each problem in the text of the file."""
    if error.source is None:
        return
    lines = positions.lines_of(error.source.text)
    for problem in error.problems:
        if len(error.problems) > 1:
            yield escaped(_located(error.source.name, problem))
        if problem.position:
            line = positions.line_at(lines, problem.position)
            if not _may_hold_secret(line, problem):
                yield from positions.snippet(line, problem.position).splitlines()
    if isinstance(error, Invalid) and error.more:
        count = len(error.problems) + error.more
        yield f'and {_least(count)}{counted(error.more, "more error")}'


def _least(count: int) -> str:
    """Return 'at least ' if the search ended before it counted all errors."""
    return 'at least ' if count >= MAX_FOUND else ''


def _located(name: str, problem: Problem) -> str:
    where = f':{problem.position.line}:{problem.position.column}' if problem.position else ''
    return f'{name}{where}: {problem.text}'


def _may_hold_secret(line: str, problem: Problem) -> bool:
    """Return whether the line of a problem, or the path in its text, names a secret."""
    return masking.may_hold_secrets(f'{problem.text} {line}'.encode(errors='replace'))


def _all(
    exc: errors.PlacementWorkerError, raw: object, kind: type, is_local: bool
) -> Iterator[SchemaError]:
    is_missing = isinstance(exc, errors.PolicyTypeNotFound)
    if isinstance(exc, errors.InvalidSpec) or (is_missing and is_local):
        registry = Registry.installed()
        for spec, path in _specs(raw, kind):
            yield from _in_properties(spec, path, registry)
            if is_local and kind is not Spec:
                yield from _missing_type(spec, path, registry)
        return
    yield from schema_errors.all_errors(raw, kind, PlacesInData)


def type_of(
    exc: errors.PlacementWorkerError, error: Invalid, data: object, kind: type
) -> str | None:
    """Return the type of the only policy spec that the errors of a document are about, or None."""
    if not isinstance(exc, errors.InvalidSpec):
        return None
    named = [paths.named_in(problem.text) or () for problem in error.problems]
    types = {
        codec.decode(spec, Spec).type_name
        for spec, path in _specs(data, kind)
        if any(path == one[: len(path)] for one in named)
    }
    return types.pop() if len(types) == 1 else None


def _specs(raw: object, kind: type) -> Iterator[tuple[object, Path]]:
    """Yield the policy specs of a document that fits the contract, with their paths."""
    if kind is Spec:
        yield raw, ()
    elif isinstance(raw, dict) and 'policy' in raw:
        yield raw['policy']['spec'], ('policy', 'spec')
    elif isinstance(raw, dict):
        for index, binding in enumerate(raw.get('policies', ())):
            if binding.get('enabled', True):
                yield binding['spec'], ('policies', index, 'spec')


def _missing_type(raw: object, path: Path, registry: Registry) -> Iterator[SchemaError]:
    """Yield the error of a spec whose type is not installed here."""
    try:
        registry.lookup(codec.decode(raw, Spec).type_name, paths.shown(path))
    except errors.PolicyTypeNotFound as exc:
        yield SchemaError(path, str(exc))


def _in_properties(raw: object, path: Path, registry: Registry) -> Iterator[SchemaError]:
    """Yield the errors in the properties of a spec whose type is installed here."""
    spec = codec.decode(raw, Spec)
    policy = registry.types.get(spec.type_name)
    if policy is not None:
        schema = schema_of(policy, spec.type_name)
        properties = normalized(spec.properties, schema)
        yield from schema_errors.found(properties, schema, (*path, 'properties'))
