"""placement-policy validate, type list and type show."""

import argparse

from placement_worker import errors
from placement_worker.cmd import hints, output
from placement_worker.cmd.base import OK, Command
from placement_worker.contract import codec, document_kinds
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import PolicyType, Spec
from placement_worker.formats import documents


class Validate(Command):
    """Check policy specs, and print them with their defaults."""

    examples = (
        'placement-policy validate conf/policies/zone_placement.yaml',
        'placement-policy validate --check-resources --cloud cloud.yaml spec.yaml',
    )
    epilog = 'Exit status: 0 all are valid, 2 one is not, or no worker answered.'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            'files',
            metavar='SPEC',
            nargs='+',
            help='policy specs, YAML or JSON; - for standard input',
        )
        parser.add_argument(
            '-f', '--format', choices=('yaml', 'json'), default='yaml', help='default: yaml'
        )
        parser.add_argument(
            '--check-resources',
            action='store_true',
            help='see as well that the cloud has what the spec names',
        )

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Check each; an invalid one does not stop the others."""
        status = OK
        for path in args.files:
            for number, document in enumerate(documents.read(path), start=1):
                try:
                    spec = caller.policy_validate(_spec(document), args.check_resources)
                except errors.Refused as exc:
                    told = hints.told(exc).replace('`$.spec', '`$')  # the file is the spec
                    status = self.complain(f'{path}, document {number}: {told}')
                else:
                    self.say(output.document(spec, args.format))
                    if args.check_resources:
                        self.mention_cloud(args, path)
        return status


class TypeList(Command):
    """List the policy types."""

    examples = (
        'placement-policy type list',
        'placement-policy type list -f json --transport rabbit://user:password@host/',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Ask for them."""
        types = caller.policy_type_list()
        if args.format == 'table':
            rows = [
                {
                    'name': one.name,
                    'priority': one.priority,
                    'support': list(_support(one)),
                    'profile types': ', '.join(one.profile_types or ['ANY']),
                    'triggers': [f'{trigger.phase} {trigger.action}' for trigger in one.triggers],
                }
                for one in types
            ]
            self.say(output.table(rows))
        else:
            self.say(output.document(types, args.format))
        return OK


class TypeShow(Command):
    """Show a policy type with the schema of its properties."""

    examples = ('placement-policy type show senlin.policy.zone_placement-1.0 -f json',)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument('type_name', metavar='NAME', help='e.g. senlin.policy.deletion-1.1')
        parser.add_argument(
            '-f', '--format', choices=('yaml', 'json'), default='yaml', help='default: yaml'
        )

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Ask for it."""
        try:
            shown = caller.policy_type_get(args.type_name)
        except errors.PolicyTypeNotFound as exc:
            return self.complain(
                hints.told(exc).replace(' - at `$.type_name`', '')
            )  # it is an argument here
        self.say(output.document(shown, args.format))
        return OK


def _support(policy_type: PolicyType) -> list[str]:
    """Return the statuses of this version of a type, e.g. "SUPPORTED since 2016.04"."""
    statuses = policy_type.support_status.get(policy_type.name.rpartition('-')[2], [])
    return [f'{one.status} since {one.since}' for one in statuses]


def _spec(document: object) -> Spec:
    """One spec of a file.

    :raises InvalidRequest: it is none, or has keys that no spec has.
    """
    document_kinds.check(document, Spec, 'Expected only keys of a spec')
    return codec.decode(document, Spec)
