"""Requests in files: the commands that take them, and the decoding of their documents.

A file is stricter than a message of an engine. There, an unknown key or input may come from a newer
engine; here, it is probably a typo, and the result would look right without it.
"""

import argparse
from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, TypeVar

from msgspec import structs
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, Command
from placement_worker.contract import codec, document_kinds, inputs
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest, PolicyType
from placement_worker.formats import documents
from placement_worker.formats.documents import Document

T = TypeVar('T')


class FilesCommand(Command):
    """A command that handles each document of its files.

    :cvar severity: the exit statuses; the last one in this order that a document has counts.
    """

    files_metavar: ClassVar[str] = 'FILE'
    files_help: ClassVar[str] = 'requests, YAML or JSON; - for standard input'
    formats: ClassVar[Sequence[str]] = output.FORMATS
    severity: ClassVar[Sequence[int]] = (OK, SOME_ERROR, INVALID)

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('files', metavar=self.files_metavar, nargs='+', help=self.files_help)
        output.add_format_argument(parser, self.formats)

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        statuses = [
            self.run_document(caller, document, path, args)
            for path in args.files
            for document in documents.read(path)
        ]
        return max(statuses, key=self.severity.index)

    @abstractmethod
    def run_document(
        self, caller: Caller, document: Document, path: str, args: argparse.Namespace
    ) -> int:
        """Handle a document of the file at a path, and return the exit status."""


def request_of(document: object, kind: type[T]) -> T:
    """Decode a document; an unknown key is an error because it may be a typo."""
    document_kinds.check(document, kind, 'Expected only keys of the contract')
    return codec.decode(document, kind)


def check_request_of(caller: Caller, document: object, explain: str | None) -> CheckRequest:
    return completed(caller, request_of(document, CheckRequest), explain)


def completed(caller: Caller, request: CheckRequest, explain: str | None) -> CheckRequest:
    """Return a check request without unknown inputs; `explain` None keeps its level of detail."""
    if inputs.unknown_inputs(request.action.action, request.action.inputs):
        _check_inputs(request, caller.policy_type_list())
    return structs.replace(request, explain=explain) if explain else request


def _check_inputs(request: CheckRequest, types: Collection[PolicyType]) -> None:
    """A policy type that is not installed may read the input; the worker refuses the type then."""
    installed = {one.name for one in types}
    enabled = {binding.spec.type_name for binding in request.policies if binding.enabled}
    declared = {key for one in types for key in one.inputs}
    unknown = inputs.unknown_inputs(request.action.action, request.action.inputs, declared)
    if unknown and enabled <= installed:
        described = inputs.describe_unknown(request.action.action, unknown, declared)
        raise errors.InvalidRequest(f'{described} - at `$.action.inputs`')
