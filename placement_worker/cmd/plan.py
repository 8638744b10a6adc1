"""placement-policy plan."""

import argparse

import msgspec

from placement_worker import errors
from placement_worker.cmd import hints, output, plan_changes
from placement_worker.cmd.base import Command
from placement_worker.cmd.check import decoded
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.plan_diff import shown
from placement_worker.contract.caller import Caller
from placement_worker.formats import documents

UNCHANGED, FAILED, CHANGED = 0, 1, 2
_GRAVITY = (UNCHANGED, CHANGED, FAILED)


class Plan(Command):
    """Show what policy checks would change, and change nothing."""

    failed = FAILED
    examples = (
        'placement-policy plan examples/scale-in.yaml    # who would die, and why',
        'placement-policy plan --cloud cloud.yaml request.yaml -f json',
        'placement-policy plan --config-file /etc/placement-worker/placement-worker.conf request.yaml',
    )
    epilog = (
        'Exit status: 0 nothing changes, 2 something does, 1 a check ended in ERROR, or a request was invalid, or no '
        'worker answered (that of check is another one).'
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            'files', metavar='FILE', nargs='+', help='requests, YAML or JSON; - for standard input'
        )
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Show the changes of every request; an invalid one does not stop the others."""
        statuses = [
            self._plan(caller, document, path, number, args)
            for path in args.files
            for number, document in enumerate(documents.read(path), start=1)
        ]
        return max(statuses, key=_GRAVITY.index)

    def _plan(
        self, caller: Caller, document: object, path: str, number: int, args: argparse.Namespace
    ) -> int:
        try:
            request = msgspec.structs.replace(decoded(caller, document, 'full'), dry_run=True)
            found = plan_changes.of(request, caller.policy_check(request))
        except errors.Refused as exc:
            return self.complain(f'{path}, document {number}: {hints.told(exc)}')
        if args.format == 'table':
            self.say('\n'.join(shown(found, Paint.of(self.app.stdout))))
            self.mention_cloud(args, path)
        else:
            self.say(output.document(found, args.format))
        if found.status != 'OK':
            return FAILED
        return CHANGED if found.any else UNCHANGED
