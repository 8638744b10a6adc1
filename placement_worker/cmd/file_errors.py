"""Errors of commands: the line of the file with a caret, the key that is meant, and a hint.

Decoding stops at the first error. A user who corrects a file wants all of them, so a refused
document is searched again. Lines that may hold a secret are not shown: people paste errors.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from placement_worker import errors
from placement_worker.contract import codec, document_kinds
from placement_worker.contract.action_data import PlacesInData
from placement_worker.contract.model import Spec
from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.decisions import masking
from placement_worker.formats import documents, paths
from placement_worker.formats.documents import Document, DocumentError, Invalid, Position, Problem
from placement_worker.formats.paths import Path, SchemaError, WrongValue
from placement_worker.formats.text import counted, escaped
from placement_worker.policies.registry import Registry, normalized, schema_of

MAX_FOUND = 1000  # errors after which the search in a document ends
_MAX_SNIPPET = 100  # characters of a line
_BEFORE = 60  # characters before the caret if a line is cut
_COMMAND = 'placement-policy'
# The hint for each type of error; the first match counts.
_HINTS: Mapping[type[Exception], str] = {
    errors.PolicyTypeNotFound: f'run "{_COMMAND} type list", with --config-file or --transport to '
    'ask a worker, for the installed types',
    errors.InvalidSpec: f'run "{_COMMAND} type show NAME-VERSION" for the schema',
    errors.UnsupportedAction: f'run "{_COMMAND} schema policy_check.request" for the actions of '
    'Senlin',
    errors.Refused: 'correct the file and try again',
    InvalidCordonFile: 'correct the cordon file',
    errors.InvalidInventory: 'correct the file that --cloud names',
    errors.BrokerUnreachable: 'check that RabbitMQ runs at this address, and has no alarm',
    errors.NoWorkerAnswered: 'check that a worker serves this broker and has a free thread '
    '("Nothing happens" on the page Troubleshooting of the manual); increase --timeout only if a '
    'request takes longer',
    errors.BrokerRefused: 'check the user, password, virtual host, permissions and certificates',
    errors.QueueMismatch: 'correct the queue as the message says',
    errors.WorkerTooOld: 'try again after the upgrade',
    errors.RequestParked: f'run "{_COMMAND} parked list" to see parked requests',
    errors.ReplyTooLarge: 'ask with a lower explain, or raise max_message_size of the broker',
    errors.ServiceRefused: 'correct the cause and try again',
    errors.CloudUnavailable: 'try again when the service is available',
    errors.ClientClosed: 'run the command again',
    errors.ConfigurationError: 'correct the option',
    documents.Damaged: 'copy the file again, or omit it',
    documents.DocumentError: 'write the file in YAML or JSON',
    FileNotFoundError: 'check the path',
    IsADirectoryError: 'name a file in this directory',
    PermissionError: 'run the command as a user who has access to the file, for example with sudo',
    OSError: 'check the file and its file system',
}
# Hints by a part of the text, which precede those by type. None: the text has a remedy of its own.
# The client's text begins alike whether the broker refuses the request or is silent.
_BY_TEXT: Mapping[str, str | None] = {
    'The request could not be delivered: .*access to topic ': 'the broker runs, but the topic '
    'permissions of this user forbid this topic; compare the topic with '
    '"rabbitmqctl list_topic_permissions"',
    'The request could not be delivered: .*ACCESS_REFUSED': 'the broker runs, but this user lacks '
    'a permission; use the broker user of an operator ("Configuration of operators" in the manual)',
    'permission is missing on the broker: .*-parked': 'the parking lot is open to the broker user '
    'of an operator ("Configuration of operators" in the manual)',
    ' was skipped: ': 'correct the cause, and restart the workers',
    '; (check|create it,|the page|start|this port may|write type) ': None,
    r'`object`, got `str` - at `\$`': 'this file has text without keys; check its name',
    'found the key ': 'remove one of the two',
    'found a tab character': 'indent with spaces',
    'cannot start any token': 'indent with spaces, and quote a text that begins like this',
    r'^examples/.*: No such file': 'the examples are in the clone of placement-worker; run the '
    'command there',
    'Not a gzipped file': 'remove .gz from the name of a file that is not compressed',
}


def with_hint(exc: Exception, text: str = '') -> str:
    """Return the text, or that of the error, with a hint unless the text names a command."""
    text = text or (errors.file_error(exc) if isinstance(exc, OSError) else str(exc))
    text = ' '.join(text.split())
    if isinstance(exc, errors.WorkerFailed):
        log = 'look for the traceback in the log of the worker'
        run = f'run "{_COMMAND} --debug ..." for the traceback'
        look = log if ' in the worker: ' in text else run
        owner = 'the plugin' if ', a plugin of ' in text else 'placement-worker'
        hint: str | None = f'{look}, and report it to the maintainers of {owner}'
    else:
        by_text = (hint for part, hint in _BY_TEXT.items() if re.search(part, text))
        by_type = (hint for kind, hint in _HINTS.items() if isinstance(exc, kind))
        hint = next(itertools.chain(by_text, by_type), None)
    return text if hint is None or _COMMAND in text else f'{text.rstrip(".")}; {hint}'


def invalid_document(
    exc: errors.PlacementWorkerError,
    document: Document,
    kind: type,
    text: str,
    *,
    is_local: bool = False,
) -> Invalid:
    """Return all errors of a document, at least the one that refused it.

    :param text: that of the error, with paths in the document.
    :param is_local: whether the policy types that are installed here decided the request.
    """
    if wrong := errors_in_data(exc, document.data, kind, is_local=is_local):
        return document.invalid(_without_repetitions(wrong))
    path = paths.named_in(text)
    if path is None:
        return Invalid(document.source, [Problem(text, None)], 0)
    return document.invalid([SchemaError(path, text)])


def errors_in_data(
    exc: errors.PlacementWorkerError, data: object, kind: type, *, is_local: bool = False
) -> list[WrongValue]:
    """Return the first `MAX_FOUND` errors of a document that a schema can find, one per path."""
    if document_kinds.other_kind(data, kind.__name__):
        return []
    by_path: dict[Path, WrongValue] = {}
    for error in _errors(exc, data, kind, is_local):
        by_path.setdefault(error.path, error)
        if len(by_path) == MAX_FOUND:
            break
    return list(by_path.values())


def _without_repetitions(wrong: Sequence[WrongValue]) -> Iterator[SchemaError]:
    """Yield one error for those that differ only in the items of lists, e.g. in 40 nodes.

    The other errors would not be among the first ones, which are shown.
    """
    alike: dict[str, list[WrongValue]] = {}
    for error in wrong:
        alike.setdefault(re.sub(r'\[\d+\]', '[]', error.text), []).append(error)
    least = 'at least ' if len(wrong) == MAX_FOUND else ''
    for first, *others in alike.values():
        what, at, path = first.text.rpartition(' - at ')
        times = f' ({least}{len(others) + 1} times)' if others else ''
        yield SchemaError(first.path, f'{what}{times}{at}{path}', first.of_key)


def headline(error: Invalid, document: Document) -> str:
    if (count := len(error.problems) + error.more) > 1:
        return f'{document.source.name}: {_counted(count, count, "error")}'
    (problem,) = error.problems
    if problem.position is None:
        return f'{document.source.name}, document {document.number}: {problem.text}'
    return _located(document.source.name, problem)


def problem_lines(error: DocumentError) -> Iterator[str]:
    if error.source is None:
        return
    lines = [*documents.LINE_BREAK.split(error.source.text), '']  # an error may be behind the last
    for problem in error.problems:
        if len(error.problems) > 1:
            yield escaped(_located(error.source.name, problem))
        if problem.position:
            line = lines[problem.position.line - 1]
            if not masking.may_hold_secrets(f'{problem.text} {line}'.encode(errors='replace')):
                yield from _snippet(line, problem.position)
    if isinstance(error, Invalid) and error.more:
        total = len(error.problems) + error.more
        yield f'and {_counted(error.more, total, "more error")}'


def _errors(
    exc: errors.PlacementWorkerError, data: object, kind: type, is_local: bool
) -> Iterator[WrongValue]:
    is_missing = isinstance(exc, errors.PolicyTypeNotFound)
    if not isinstance(exc, errors.InvalidSpec) and not (is_missing and is_local):
        if isinstance(exc.__cause__, document_kinds.InvalidDocument):
            yield from exc.__cause__.wrong  # the search of a large document takes its time
        else:
            yield from codec.errors_in(data, codec.strict(kind))
        yield from codec.errors_in(data, PlacesInData)
        return
    registry = Registry.installed()
    for raw, path in _specs(data, kind):
        spec = codec.decode(raw, Spec)
        policy = registry.types.get(spec.type_name)
        if policy is not None:
            schema = schema_of(policy, spec.type_name)
            properties = normalized(spec.properties, schema, exact=True)
            yield from codec.errors_in(properties, schema, (*path, 'properties'))
        elif is_local and kind is not Spec:
            try:
                registry.lookup(spec.type_name, paths.path_text(path))
            except errors.PolicyTypeNotFound as missing:
                yield SchemaError(path, str(missing))


def _specs(raw: object, kind: type) -> Iterator[tuple[object, Path]]:
    if kind is Spec:
        yield raw, ()
    elif isinstance(raw, dict) and 'policy' in raw:
        yield raw['policy']['spec'], ('policy', 'spec')
    elif isinstance(raw, dict):
        for index, binding in enumerate(raw.get('policies', ())):
            if binding.get('enabled', True):
                yield binding['spec'], ('policies', index, 'spec')


def _counted(count: int, total: int, noun: str) -> str:
    return f'{"at least " if total >= MAX_FOUND else ""}{counted(count, noun)}'


def _located(name: str, problem: Problem) -> str:
    where = f':{problem.position.line}:{problem.position.column}' if problem.position else ''
    return f'{name}{where}: {problem.text}'


def _snippet(line: str, position: Position) -> Iterator[str]:
    begin = max(position.column - 1 - _BEFORE, 0) if len(line) > _MAX_SNIPPET else 0
    end = begin + _MAX_SNIPPET
    line = line.replace('\t', ' ')
    before = ('...' if begin else '') + escaped(line[begin : position.column - 1])
    after = escaped(line[position.column - 1 : end])
    number = f'{position.line:>6} | '
    yield f'{number}{before}{after}{"..." if len(line) > end else ""}'
    # Wide characters take two columns on a terminal.
    width = sum(2 if unicodedata.east_asian_width(char) in 'WF' else 1 for char in before)
    yield ' ' * (len(number) - 2) + '| ' + ' ' * width + '^'
