"""The commands `placement-policy validate`, `type list` and `type show`."""

import argparse
import functools

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import hints, output, targets
from placement_worker.cmd.base import OK, Command
from placement_worker.contract import codec, document_kinds
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import PolicyType, Spec
from placement_worker.formats import documents
from placement_worker.policies import registry


class Validate(Command):
    """The command `validate`."""

    examples = (
        'placement-policy validate conf/policies/zone_placement.yaml',
        'placement-policy validate --check-resources --cloud cloud.yaml spec.yaml',
    )
    epilog = 'Exit status: 0 all specs are valid, 2 a spec is invalid or no worker replied.'

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'files',
            metavar='SPEC',
            nargs='+',
            help='policy specs, YAML or JSON; - for standard input',
        )
        output.add_format_argument(parser, ('yaml', 'json'))
        parser.add_argument(
            '--check-resources',
            action='store_true',
            help='also check that the cloud has the resources that the spec names',
        )

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        status = OK
        note_of = functools.cache(functools.partial(_deprecation_note, caller))
        for path in args.files:
            for document in documents.read(path):
                try:
                    spec = caller.policy_validate(_spec(document.data), args.check_resources)
                except (errors.Refused, errors.Rejected) as exc:
                    text = str(exc).replace('`$.spec', '`$')  # the file is the spec
                    status = self.write_refusal(exc, document, Spec, text)
                else:
                    self.write(output.document(spec, args.format))
                    if note := note_of(spec.type_name):
                        self.write_error(f'{path}: {note}')
                    if args.check_resources:
                        self.note_shipped_cloud(args, path)
        return status


class TypeList(Command):
    """The command `type list`."""

    examples = (
        'placement-policy type list',
        'placement-policy type list -f json --transport rabbit://user:password@host/',
        'placement-policy type list --config-file /etc/placement-worker/operator.conf '
        '--server HOST',
    )
    epilog = (
        'A type that cannot be used is not listed. Exit status: 0 the usable types are listed, 2 '
        'no worker replied.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        targets.add_server_argument(parser)
        output.add_format_argument(parser)

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        types = caller.policy_type_list()
        if args.format == 'table':
            rows = [
                {
                    'policy type': _described(one),
                    'priority': one.priority,
                    'triggers': [f'{trigger.phase} {trigger.action}' for trigger in one.triggers],
                }
                for one in types
            ]
            self.write(output.table(rows))
        else:
            self.write(output.document(types, args.format))
        return OK


class TypeShow(Command):
    """The command `type show`."""

    examples = (
        'placement-policy type show senlin.policy.zone_placement-1.0 -f json',
        'placement-policy type show my.policy.pause-1.0 --server HOST '
        '--transport rabbit://user:password@host/',
    )
    epilog = (
        'Exit status: 0 success, 2 the type is not installed or cannot be used, or no worker '
        'replied.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'type_name',
            metavar='NAME',
            help='e.g. senlin.policy.deletion-1.1; without a version, the newest one',
        )
        targets.add_server_argument(parser)
        output.add_format_argument(parser, ('yaml', 'json'))

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        try:
            shown = _found(caller, args.type_name)
        except errors.PolicyTypeNotFound as exc:
            # The type is an argument here, so the path in the request means nothing to the user.
            return self.write_error(hints.with_hint(exc).replace(' - at `$.type_name`', ''))
        self.write(output.document(shown, args.format))
        return OK


def _found(caller: Caller, name: str) -> PolicyType:
    """Return a policy type, in its newest version if the name has none.

    :raises PolicyTypeNotFound: no such type or version is installed.
    """
    try:
        return caller.policy_type_get(name)
    except errors.PolicyTypeNotFound:
        listed = [one.name for one in caller.policy_type_list()]
        versions = [one for one in listed if one.rpartition('-')[0] == name]
        if not versions:
            raise
    return caller.policy_type_get(max(versions, key=registry.type_order))


def _deprecation_note(caller: Caller, type_name: str) -> str | None:
    """Return a sentence if a type is deprecated, or if its support status cannot be looked up."""
    try:
        statuses = caller.policy_type_get(type_name).support_status
    except errors.PlacementWorkerError as exc:
        return f'Cannot look up whether policy type {type_name} is deprecated: {exc}'
    return registry.deprecation_warning(type_name, statuses)


def _described(policy_type: PolicyType) -> list[str]:
    """Return the lines of a type in a table that fits into 80 columns."""
    profiles = policy_type.profile_types or ['any profile']
    package = [f'{one.name} {one.version}'] if (one := policy_type.package) else []
    about = (*package, *_support(policy_type), *profiles)
    return [policy_type.name, *(f'  {line}' for line in about)]


def _support(policy_type: PolicyType) -> list[str]:
    """Return the statuses of this version of a type, e.g. "SUPPORTED since 2016.04"."""
    statuses = policy_type.support_status.get(policy_type.name.rpartition('-')[2], [])
    return [f'{one.status} since {one.since}' for one in statuses]


def _spec(document: object) -> Spec:
    """Return a document of a file as a spec.

    :raises InvalidRequest: the document is no spec, or has unknown keys.
    """
    document_kinds.check(document, Spec, 'Expected only keys of a spec')
    return codec.decode(document, Spec)
