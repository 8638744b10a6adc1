"""Commands about policy types and workers: `validate`, `type list`, `type show`, `schema`, `ping`.

Policy types depend on the packages of the worker that replies, schemas on this version alone.
"""

import argparse
import functools
import json
import time
from importlib import resources
from pathlib import PurePath
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import file_errors, output, targets
from placement_worker.cmd.base import OK, Command, LocalCommand
from placement_worker.cmd.request_files import FilesCommand
from placement_worker.contract import codec, document_kinds
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import PolicyType, Spec
from placement_worker.formats.documents import Document
from placement_worker.formats.text import MAX_CHARACTERS, nearest
from placement_worker.policies import registry

_SCHEMAS = resources.files('placement_worker.contract') / 'schemas'  # by tools/schemas.py


class Validate(FilesCommand):
    examples = (
        'placement-policy validate conf/policies/zone_placement.yaml',
        'placement-policy validate --check-resources --cloud cloud.yaml spec.yaml',
    )
    epilog = 'Exit status: 0 all specs are valid, 2 a spec is invalid or no worker replied.'

    request_type = Spec
    files_metavar = 'SPEC'
    files_help = 'policy specs, YAML or JSON; - for standard input'
    formats = ('yaml', 'json')

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            '--check-resources',
            action='store_true',
            help='also check that the cloud has the resources that the spec names',
        )

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        self._note_of = functools.cache(functools.partial(_deprecation_note, caller))
        return super().run_with(caller, args)

    @override
    def handle(self, caller: Caller, document: Document, args: argparse.Namespace) -> int:
        try:
            document_kinds.check_kind(document.data, Spec, 'Expected only keys of a spec')
            spec = codec.decode(document.data, Spec)
            spec = caller.policy_validate(spec, args.check_resources)
        except (errors.Refused, errors.Rejected) as exc:
            text = str(exc).replace('`$.spec', '`$')  # the file is the spec
            return self.write_refusal(exc, document, text)
        self.write(output.document(spec, args.format))
        if note := self._note_of(spec.type_name):
            self.write_error(f'{document.source.name}: {note}')
        if args.check_resources:
            self.note_shipped_cloud(args, document)
        return OK


class TypeList(Command):
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
        self.write_result(args.format, types, [output.table(list(map(_row, types)))])
        return OK


class TypeShow(Command):
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
            policy_type = _newest(caller, args.type_name)
        except errors.PolicyTypeNotFound as exc:
            # The type is an argument here, so the path in the request means nothing to the user.
            return self.write_error(file_errors.with_hint(exc).replace(' - at `$.type_name`', ''))
        self.write(output.document(policy_type, args.format))
        return OK


class Schema(LocalCommand):
    examples = ('placement-policy schema', 'placement-policy schema policy_check.request')
    epilog = (
        'Exit status: 0 success, 2 there is no such message. The schemas are those of this version.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'name',
            metavar='NAME',
            nargs='?',
            help='a message, e.g. policy_check.request; without it, all names are listed',
        )

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.name is None:
            width = max(map(len, message_names()))
            for name in message_names():
                self.write(f'{name:<{width}}  {json.loads(message_schema(name))["title"]}')
            return OK
        if parsed_args.name in message_names():
            self.write(message_schema(parsed_args.name).rstrip('\n'))
            return OK
        name = parsed_args.name[:MAX_CHARACTERS]
        near = nearest(name, message_names())
        meant = f' Did you mean "{near}"?' if near else ''
        return self.write_error(
            f'Unknown message "{name}".{meant} Run "placement-policy schema" for the list of names'
        )


class Ping(LocalCommand):
    examples = (
        'placement-policy ping --transport rabbit://user:password@host/',
        'placement-policy ping --config-file /etc/placement-worker/operator.conf '
        '--server HOST --timeout 5',
    )
    epilog = 'Exit status: 0 a worker replied, 2 no worker replied.'

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        targets.add_server_argument(parser)
        output.add_format_argument(parser)
        targets.add_remote_arguments(parser, calls_may_be_slow=False)

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        targets.require_broker(parsed_args, 'ping')
        with targets.open_caller(parsed_args) as caller:
            began = time.monotonic()  # the first call includes the connection to the broker
            worker = caller.get_capabilities()
            elapsed_ms = round((time.monotonic() - began) * 1000, 1)
        row = {
            'host': worker.host,
            'hostname': worker.hostname,
            'pid': worker.pid,
            'version': worker.version,
            'started_at': worker.started_at.isoformat(timespec='seconds'),
            'elapsed_ms': elapsed_ms,
        }
        self.write_result(parsed_args.format, row, [output.table([row])])
        return OK


def message_names() -> list[str]:
    files = (PurePath(file.name) for file in _SCHEMAS.iterdir())
    return sorted(file.stem for file in files if file.suffix == '.json')


def message_schema(name: str) -> str:
    return (_SCHEMAS / f'{name}.json').read_text(encoding='utf-8')


def _newest(caller: Caller, name: str) -> PolicyType:
    """Return a policy type by its name, which may lack the version."""
    try:
        return caller.policy_type_get(name)
    except errors.PolicyTypeNotFound:
        names = [policy_type.name for policy_type in caller.policy_type_list()]
        versions = [full for full in names if full.rpartition('-')[0] == name]
        if not versions:
            raise
    return caller.policy_type_get(max(versions, key=registry.type_order))


def _deprecation_note(caller: Caller, type_name: str) -> str | None:
    try:
        statuses = caller.policy_type_get(type_name).support_status
    except errors.PlacementWorkerError as exc:
        return f'Cannot look up whether policy type {type_name} is deprecated: {exc}'
    return registry.deprecation_warning(type_name, statuses)


def _row(policy_type: PolicyType) -> dict[str, Any]:
    package = policy_type.package
    statuses = policy_type.support_status.get(policy_type.name.rpartition('-')[2], [])
    about = [f'{package.name} {package.version}'] if package else []
    about += [f'{status.status} since {status.since}' for status in statuses]
    about += policy_type.profile_types or ['any profile']
    return {
        'policy type': [policy_type.name, *(f'  {line}' for line in about)],
        'priority': policy_type.priority,
        'triggers': [f'{trigger.phase} {trigger.action}' for trigger in policy_type.triggers],
    }
