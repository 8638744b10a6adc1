"""The command `placement-policy rebalance`."""

import argparse
import functools
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import argument_types, output, rebalance_table
from placement_worker.cmd.base import OK, SOME_ERROR, Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.request_files import request_of
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest, RebalanceReply, RebalanceRequest
from placement_worker.formats import documents
from placement_worker.formats.documents import Document

OPTIONS: Sequence[tuple[str, type, int, str]] = (
    ('--max-moves', int, 1, 'maximum number of nodes to move; default: no limit'),
    ('--max-surge', int, 1, 'maximum number of nodes that a step adds; default: 1'),
    ('--min-gain', float, 0, 'omit moves that reduce the deviation by less; default: 0'),
    ('--min-age-s', int, 0, 'do not move nodes younger than this, in seconds; default: 0'),
)
"""Name, type, least value and help of each option of a request."""
REGIONS = 'regions: {RegionOne: {zones: {az1: true, az2: true}}}'
"""An example of regions in the file of an embedded cloud."""
ONLY_OF_CHECKS = {*CheckRequest.__struct_fields__} - {*RebalanceRequest.__struct_fields__}


class Rebalance(Command):
    """The command `rebalance`."""

    examples = (
        'placement-policy rebalance examples/rebalance.yaml',
        'placement-policy rebalance --max-surge 2 --min-age-s 3600 --cloud cloud.yaml cluster.yaml',
        'placement-policy rebalance --config-file /etc/placement-worker/operator.conf '
        '-f json cluster.yaml',
    )
    epilog = (
        'Nothing is changed. The options replace those of the file. Exit status: 0 all plans are '
        'OK, 1 some plan ended in ERROR, 2 a request was invalid or no worker replied.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'files',
            metavar='FILE',
            nargs='+',
            help='clusters with their policies, or check requests, YAML or JSON; - for standard '
            'input',
        )
        output.add_format_argument(parser)
        for name, kind, least, text in OPTIONS:
            number = functools.partial(argument_types.at_least, kind=kind, least=least)
            parser.add_argument(name, type=number, metavar='NUMBER', help=text)

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        return max(
            self._show(caller, document, path, args)
            for path in args.files
            for document in documents.read(path)
        )

    def _show(self, caller: Caller, document: Document, path: str, args: argparse.Namespace) -> int:
        try:
            request = request_of(_with_options(_of_check(document.data), args), RebalanceRequest)
            reply = caller.policy_rebalance(request)
        except errors.Refused as exc:
            return self.write_refusal(exc, document, RebalanceRequest)
        if args.format == 'table':
            self.write(rebalance_table.shown(reply, request, Paint.of(self.app.stdout)))
            self.note_shipped_cloud(args, path)
        else:
            self.write(output.document(reply, args.format))
        if reply.status != 'OK' and args.cloud:
            self._note_missing_regions(reply, args.cloud)
        return OK if reply.status == 'OK' else SOME_ERROR

    def _note_missing_regions(self, reply: RebalanceReply, cloud: str) -> None:
        """Note that a plan fails because the file of the cloud lacks the regions of a policy."""
        if names := reply.details.get('unknown_regions'):
            self.write_error(
                f'{cloud} lacks the regions {names}; add them to this file with their zones, '
                f'for example "{REGIONS}"'
            )


def _of_check(document: Any) -> Any:
    """Return a check request without the keys that a rebalance lacks, or another document."""
    if not isinstance(document, dict) or 'action' not in document:
        return document
    return {name: value for name, value in document.items() if name not in ONLY_OF_CHECKS}


def _with_options(document: Any, args: argparse.Namespace) -> Any:
    """Return a document with the options of the command line in place of its own."""
    names = (name.removeprefix('--').replace('-', '_') for name, *_ in OPTIONS)
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    options = document.get('options', {}) if isinstance(document, dict) else None
    if not given or not isinstance(options, dict):
        return document
    return {**document, 'options': {**options, **given}}
