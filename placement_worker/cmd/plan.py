"""The command `placement-policy plan`."""

import argparse

import msgspec
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import output, plan_comparison
from placement_worker.cmd.base import Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.plan_diff import shown
from placement_worker.cmd.request_files import check_request_of
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest
from placement_worker.formats import documents
from placement_worker.formats.documents import Document

UNCHANGED, FAILED, CHANGED = 0, 1, 2
_SEVERITY = (UNCHANGED, CHANGED, FAILED)


class Plan(Command):
    """The command `plan`."""

    error_status = FAILED
    examples = (
        'placement-policy plan examples/scale-in.yaml    # victims with their reasons',
        'placement-policy plan --cloud cloud.yaml request.yaml -f json',
        'placement-policy plan --config-file /etc/placement-worker/operator.conf request.yaml',
    )
    epilog = (
        'Exit status: 0 nothing would change, 2 something would change, 1 a check ended in ERROR, '
        'a request was invalid, or no worker replied. The exit status of check differs.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'files', metavar='FILE', nargs='+', help='requests, YAML or JSON; - for standard input'
        )
        output.add_format_argument(parser)

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        statuses = [
            self._show_plan(caller, document, path, args)
            for path in args.files
            for document in documents.read(path)
        ]
        return max(statuses, key=_SEVERITY.index)

    def _show_plan(
        self, caller: Caller, document: Document, path: str, args: argparse.Namespace
    ) -> int:
        try:
            request = check_request_of(caller, document.data, 'full')
            self.note_misspellings(request, document)
            request = msgspec.structs.replace(request, dry_run=True)
            found = plan_comparison.compare(request, caller.policy_check(request))
        except errors.Refused as exc:
            return self.write_refusal(exc, document, CheckRequest)
        if args.format == 'table':
            self.write('\n'.join(shown(found, Paint.of(self.app.stdout))))
            self.note_shipped_cloud(args, path)
        else:
            self.write(output.document(found, args.format))
        if found.status != 'OK':
            return FAILED
        return CHANGED if found.any else UNCHANGED
