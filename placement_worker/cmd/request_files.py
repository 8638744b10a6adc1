"""Requests in files: the commands that take them, and the decoding of their documents.

A file is stricter than a message of an engine. There, an unknown key or input may come from a newer
engine; here, it is probably a typo, and the result would look right without it.
"""

import itertools
from abc import abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Meta, structs
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import file_errors, output, targets
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, LocalCommand
from placement_worker.contract import codec, document_kinds, inputs
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.formats import documents, paths
from placement_worker.formats.documents import Document, Source
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.simulation.scenario import StartingNodes

T = TypeVar('T')


class FilesCommand(LocalCommand):
    """A command that handles each document of its files, here or in running workers."""

    request_type: ClassVar[type]  # what a document must describe
    files_metavar: ClassVar[str] = 'FILE'
    files_help: ClassVar[str] = 'requests, YAML or JSON; - for standard input'
    formats: ClassVar[Sequence[str]] = output.FORMATS
    checks_specs: ClassVar[bool] = True  # whether the properties of policies must be valid
    # The exit status of a document that is the last one in this order counts.
    severity: ClassVar[Sequence[int]] = (OK, SOME_ERROR, INVALID)
    _is_local = _cloud_noted = False

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument('files', metavar=self.files_metavar, nargs='+', help=self.files_help)
        output.add_format_argument(parser, self.formats)

    @override
    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser = super().get_parser(prog_name)
        targets.add_arguments(parser)
        return parser

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        with targets.open_caller(parsed_args) as caller:
            return self.run_with(caller, parsed_args)

    def run_with(self, caller: Caller, args: Namespace) -> int:
        self._is_local = isinstance(caller, InProcessCaller)
        statuses: list[int] = []
        try:
            for source in map(documents.source_of, args.files):
                if status := self._refuse_beginning(source):
                    statuses.append(status)
                    continue
                for document in documents.parse(source):
                    status = self._handle_whole(caller, document, args)
                    statuses.append(status)
        finally:  # an unreadable file does not hide the results of those before it
            self.write_kept(as_array=len(statuses) > 1)
        return max(statuses, key=self.severity.index)

    @abstractmethod
    def handle(self, caller: Caller, document: Document, args: Namespace) -> int:
        """Return the exit status, or raise Refused if the document is invalid."""

    def read_of(self, data: Any) -> Any:
        """Return the part of a document that the command reads as a request of its type."""
        return data

    def _refuse_beginning(self, source: Source) -> int:
        """Return 0, or the exit status after errors that no later line of a long file corrects."""
        document = documents.beginning(source)
        if document is None:
            return OK
        try:
            complete = replace(document, data=self.read_of(_complete_part(document.data)))
            document, _ = _with_whole_nodes(complete)
        except errors.InvalidRequest:  # the whole document is refused for the same reason
            return OK
        refusals: list[errors.Refused] = [errors.InvalidRequest()]
        refusals += [errors.InvalidSpec()] * (self._is_local and self.checks_specs)
        for exc in refusals:
            wrong = file_errors.errors_in_data(exc, document.data, self.request_type)
            # A missing key may follow.
            lasting = [error for error in wrong if not error.text.startswith('Object missing')]
            if lasting:
                error = document.invalid(lasting)
                self.write_failure(exc, error, file_errors.headline(error, document))
                unread = 'the lines after the first 64 KiB were not read'
                return self.write_error(f'{source.name}: {unread}')
            if any(error.path[:1] in {('policies',), ('policy',)} for error in wrong):
                break  # the specs cannot be decoded
        return OK

    def _handle_whole(self, caller: Caller, document: Document, args: Namespace) -> int:
        try:
            document, whole = _with_whole_nodes(document)
            return self.handle(caller, whole, args)
        except errors.Refused as exc:
            return self.write_refusal(exc, document, str(exc))

    def write_refusal(self, exc: errors.PlacementWorkerError, document: Document, text: str) -> int:
        """Print all errors of a document; the paths in `text` are those in the document."""
        kind = self.request_type
        error = file_errors.invalid_document(exc, document, kind, text, is_local=self._is_local)
        return self.write_failure(exc, error, file_errors.headline(error, document))

    def note_shipped_cloud(self, args: Namespace, document: Document) -> None:
        """Note once that the text is about the shipped cloud, unless the user chose a cloud."""
        if self._cloud_noted or args.format != self.formats[0]:
            return
        if targets.uses_shipped_cloud(args, document.source):
            self._cloud_noted = True
            self.write_error(
                'This decision is for the shipped cloud of the examples; use --cloud FILE for '
                'another cloud'
            )


def _complete_part(beginning: Any) -> Any:
    """Return the beginning of a document without its last value, which may be cut."""
    if isinstance(beginning, list):
        return beginning[:-1]
    rest = dict(beginning) if isinstance(beginning, dict) else {}
    if rest:
        last, value = rest.popitem()
        rest |= {last: part} if (part := _complete_part(value)) else {}
    return rest


class _EqualNodes(StartingNodes, frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=1_000_000)]


def _with_whole_nodes(document: Document) -> tuple[Document, Document]:
    """Return a document with one node, and with all, for each `{count: 22, zone: z1}` in `nodes`.

    The first node takes the place of its item and the others follow the list, so that the index in
    the path of an error leads to a line of the file.

    :raises InvalidRequest: an item that counts nodes is invalid.
    """
    match document.data:
        case {'cluster': {'nodes': [*nodes]} as cluster}:
            items = {i: item for i, item in enumerate(nodes) if isinstance(item, dict)}
        case _:
            return document, document
    counting = {i: item for i, item in items.items() if 'count' in item and 'id' not in item}
    wrong = [
        error
        for i, item in counting.items()
        for error in codec.errors_in(item, _EqualNodes, ('cluster', 'nodes', i))
    ]
    if wrong:
        raise errors.InvalidRequest(wrong[0].text) from document_kinds.InvalidDocument(wrong)
    taken = {str(item.get('id')) for item in items.values()}
    ids: dict[str, Iterator[str]] = {}
    others: list[Any] = []
    for i, item in counting.items():
        equal = codec.decode(item, _EqualNodes)
        keys = {'region_name': equal.region, 'zone': equal.zone}
        place = {key: name for key, name in keys.items() if name}
        name = '-'.join(place.values()) or 'node'
        free = ids.setdefault(name, _free_ids(name, taken))
        data = {**equal.data, 'placement': place} if place else equal.data
        nodes[i], *more = (
            {'id': node_id, 'status': 'ACTIVE', 'data': data}
            for node_id in itertools.islice(free, equal.count)
        )
        others += more
    with_first, whole = (
        replace(document, data={**document.data, 'cluster': {**cluster, 'nodes': listed}})
        for listed in (nodes, nodes + others)
    )
    return with_first, whole


def _free_ids(name: str, taken: Collection[str]) -> Iterator[str]:
    ids = (f'{name}-{number}' for number in itertools.count(1))
    return (node_id for node_id in ids if node_id not in taken)


def request_of(document: object, kind: type[T]) -> T:
    document_kinds.check_kind(document, kind, 'Expected only keys of the contract')
    return codec.decode(document, kind)


def check_request_of(caller: Caller, document: object, explain: str | None) -> CheckRequest:
    return completed(caller, request_of(document, CheckRequest), explain)


def completed(caller: Caller, request: CheckRequest, explain: str | None) -> CheckRequest:
    """Return a check request without unknown inputs; `explain` None keeps its level of detail."""
    action = request.action
    if inputs.unknown_inputs(action.action, action.inputs):
        types = caller.policy_type_list()
        declared = {key for policy_type in types for key in policy_type.inputs}
        unknown = inputs.unknown_inputs(action.action, action.inputs, declared)
        enabled = {binding.spec.type_name for binding in request.policies if binding.enabled}
        # A type that is not installed may read the input; the worker refuses the type then.
        if unknown and enabled <= {policy_type.name for policy_type in types}:
            described = inputs.describe_unknown(action.action, unknown, declared)
            raise errors.InvalidRequest(f'{described} - at `$.action.inputs`')
    return structs.replace(request, explain=explain) if explain else request


def decided(reply: CheckReply) -> CheckReply:
    """Return the reply, or raise InvalidRequest if a policy cannot read an input of the action."""
    reason = str(reply.action.data['reason'])
    path = paths.named_in(reason)
    if path and path[:2] == ('action', 'inputs'):
        raise errors.InvalidRequest(reason)
    return reply
