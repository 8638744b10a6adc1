"""The commands `placement-policy attach` and `placement-policy detach`."""

import argparse
from abc import abstractmethod

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import output
from placement_worker.cmd.base import OK, SOME_ERROR, Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.request_files import request_of
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import BindReply, BindRequest
from placement_worker.formats import documents
from placement_worker.formats.documents import Document


class Bind(Command):
    """The common part of attaching and detaching."""

    epilog = (
        'Exit status: 0 all requests are OK, 1 some request ended in ERROR, 2 a request was '
        'invalid or no worker replied.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'files', metavar='FILE', nargs='+', help='requests, YAML or JSON; - for standard input'
        )
        output.add_format_argument(parser)

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        return max(
            self._run_document(caller, document, args)
            for path in args.files
            for document in documents.read(path)
        )

    def _run_document(self, caller: Caller, document: Document, args: argparse.Namespace) -> int:
        try:
            request = request_of(document.data, BindRequest)
            reply = self.bind(caller, request)
        except errors.Refused as exc:
            return self.write_refusal(exc, document, BindRequest)
        self.write(output.bind_reply(reply, request, args.format, Paint.of(self.app.stdout)))
        return OK if reply.status == 'OK' else SOME_ERROR

    @abstractmethod
    def bind(self, caller: Caller, request: BindRequest) -> BindReply:
        """Attach or detach one policy."""


class Attach(Bind):
    """The command `attach`."""

    examples = (
        'placement-policy attach request.yaml    # on an embedded cloud, to try it out',
        'placement-policy attach --config-file /etc/placement-worker/operator.conf request.yaml',
    )

    @override
    def bind(self, caller: Caller, request: BindRequest) -> BindReply:
        return caller.policy_attach(request)


class Detach(Bind):
    """The command `detach`."""

    examples = (
        'placement-policy detach --config-file /etc/placement-worker/operator.conf request.yaml',
        'placement-policy detach --timeout 600 --transport rabbit://user:password@host/ '
        'request.yaml',
    )

    @override
    def bind(self, caller: Caller, request: BindRequest) -> BindReply:
        return caller.policy_detach(request)
