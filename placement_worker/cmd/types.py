"""Commands about types and workers: `validate`, `type ...`, `schema`, `ping` and `worker list`.

Policy types depend on the packages of the worker that replies, schemas on this version alone.
"""

import itertools
import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import PurePath
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import targets
from placement_worker.cmd.base import DATA, OK, SOME_ERROR, Lister, LocalCommand, ShowOne, row_of
from placement_worker.cmd.request_files import FilesCommand
from placement_worker.contract import codec, document_kinds
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import Capabilities, PolicyType, Spec
from placement_worker.formats.documents import Document
from placement_worker.formats.text import MAX_CHARACTERS, did_you_mean
from placement_worker.policies import registry

_LIST_S = 2
_SCHEMAS = resources.files('placement_worker.contract') / 'schemas'  # by tools/schemas.py


class Validate(FilesCommand):
    examples = (
        'placement-policy validate conf/policies/zone_placement.yaml',
        'placement-policy validate --check-resources --cloud cloud.yaml spec.yaml',
    )
    epilog = 'Exit status: 0 all specs are valid, 2 a spec is invalid or no worker replied.'

    request_type = Spec
    checks_specs = False  # until the whole spec is read
    files_metavar = 'SPEC'
    files_help = 'policy specs, YAML or JSON; - for standard input'
    formats = ('yaml', 'json')

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            '--check-resources',
            action='store_true',
            help='also check that the cloud has the resources that the spec names',
        )

    @override
    def handle(self, caller: Caller, document: Document, args: Namespace) -> int:
        try:
            document_kinds.check_kind(document.data, Spec, 'Expected only keys of a spec')
            spec = codec.decode(document.data, Spec)
            spec = caller.policy_validate(spec, args.check_resources)
        except (errors.Refused, errors.Rejected) as exc:
            text = str(exc).replace('`$.spec', '`$')  # the file is the spec
            return self.write_refusal(exc, document, text)
        self.write_result(args.format, spec)
        if args.check_resources:
            self.note_shipped_cloud(args, document)
        return OK


class TypeList(Lister):
    examples = (
        'placement-policy type list',
        'placement-policy type list --long --sort-column priority',
        'placement-policy type list -f json --transport rabbit://user:password@host/',
        'placement-policy type list --config-file /etc/placement-worker/operator.conf '
        '--server HOST',
    )
    epilog = (
        'A type that cannot be used is not listed. Exit status: 0 the usable types are listed, 2 '
        'no worker replied.'
    )

    has_more = True

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        targets.add_server_argument(parser)
        targets.add_arguments(parser)

    @override
    def rows(self, args: Namespace) -> Iterable[Mapping[str, Any]]:
        with targets.open_caller(args) as caller:
            types = caller.policy_type_list()
        if args.formatter in DATA:
            return map(row_of, types)
        return map(_details, types) if args.long else _summaries(types)


class TypeShow(ShowOne):
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
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            'type_name',
            metavar='NAME',
            help='e.g. senlin.policy.deletion-1.1; without a version, the newest one',
        )
        targets.add_server_argument(parser)
        targets.add_arguments(parser)

    formatter_default = 'yaml'

    @override
    def fields(self, args: Namespace) -> Mapping[str, Any]:
        with targets.open_caller(args) as caller:
            try:
                return row_of(_newest(caller, args.type_name))
            except errors.PolicyTypeNotFound as exc:
                # The type is an argument, so the path in the request means nothing to the user.
                text = str(exc).replace(' - at `$.type_name`', '')
                raise errors.PolicyTypeNotFound(text) from None


class Schema(LocalCommand):
    examples = ('placement-policy schema', 'placement-policy schema policy_check.request')
    epilog = (
        'Exit status: 0 success, 2 there is no such message. The schemas are those of this version.'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            'name',
            metavar='NAME',
            nargs='?',
            help='a message, e.g. policy_check.request; without it, all names are listed',
        )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.name is None:
            width = max(map(len, message_names()))
            for name in message_names():
                self.write(f'{name:<{width}}  {json.loads(message_schema(name))["title"]}')
            return OK
        if parsed_args.name in message_names():
            self.write(message_schema(parsed_args.name).rstrip('\n'))
            return OK
        name = parsed_args.name[:MAX_CHARACTERS]
        meant = did_you_mean(name, message_names(), '')
        return self.write_error(
            f'Unknown message {name}{meant}; run "placement-policy schema" for the list of names'
        )


class Ping(ShowOne):
    examples = (
        'placement-policy ping --transport rabbit://user:password@host/',
        'placement-policy ping --config-file /etc/placement-worker/operator.conf '
        '--server HOST --timeout 5',
    )
    epilog = 'Exit status: 0 a worker replied, 2 no worker replied.'

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        targets.add_server_argument(parser)
        targets.add_remote_arguments(parser, timeout='60')

    @override
    def fields(self, args: Namespace) -> Mapping[str, Any]:
        targets.require_broker(args, 'ping')
        with targets.open_caller(args) as caller:
            began = time.monotonic()  # the first call includes the connection to the broker
            worker = caller.get_capabilities()
            elapsed_ms = round((time.monotonic() - began) * 1000, 1)
        host = {'host': worker.host, 'hostname': worker.hostname}
        return {**host, **_process_row(worker), 'elapsed_ms': elapsed_ms}


class WorkerList(Lister):
    examples = (
        'placement-policy worker list --config-file /etc/placement-worker/operator.conf',
        'placement-policy worker list --long --transport rabbit://user:password@host/',
    )
    epilog = (
        'The list has the processes that consume [worker] topic, each with its number of policy '
        'types. It lacks those of another topic, exchange or virtual host, and those without a '
        'connection to the broker. Exit status: 0 all processes replied, 1 some did not, 2 none '
        'replied.'
    )
    has_more = True

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        targets.add_remote_arguments(parser, timeout=f'{_LIST_S:g}')

    @override
    def rows(self, args: Namespace) -> Iterator[Mapping[str, Any]]:
        targets.require_broker(args, 'worker list')
        timeout_s = args.timeout or _LIST_S
        workers, missing = targets.messaging().workers(args, timeout_s)
        if missing:
            self.status = SOME_ERROR
            self.write_error(
                f'{missing} of {len(workers) + missing} processes did not reply within '
                f'{timeout_s:g} s: all their threads are busy, or they hang'
            )
        for worker in workers:
            types, row = worker.policy_types, {'host': worker.host, **_process_row(worker)}
            if self.is_long(args):
                row |= {'types': types, 'hostname': worker.hostname, 'contract': worker.contract}
            else:
                row['types'] = len(types)
            yield row


def _process_row(worker: Capabilities) -> dict[str, Any]:
    started_at = worker.started_at.isoformat(timespec='seconds')
    return {'pid': worker.pid, 'version': worker.version, 'started_at': started_at}


def message_names() -> list[str]:
    files = (PurePath(file.name) for file in _SCHEMAS.iterdir())
    return sorted(file.stem for file in files if file.suffix == '.json')


def message_schema(name: str) -> str:
    return (_SCHEMAS / f'{name}.json').read_text(encoding='utf-8')


def _newest(caller: Caller, name: str) -> PolicyType:
    try:
        return caller.policy_type_get(name)
    except errors.PolicyTypeNotFound:
        names = [policy_type.name for policy_type in caller.policy_type_list()]
        versions = [full for full in names if full.rpartition('-')[0] == name]
        if not versions:
            raise
    return caller.policy_type_get(max(versions, key=registry.type_order))


def _summaries(types: Iterable[PolicyType]) -> Iterator[dict[str, Any]]:
    """Yield a row per name; the types come in the order of their names and versions."""
    for name, versions in itertools.groupby(types, lambda named: named.name.rpartition('-')[0]):
        rows = [(named.name.rpartition('-')[2], _statuses(named)[-1:]) for named in versions]
        yield {
            'name': name,
            'versions': [version for version, _ in rows],
            'status': [''.join(statuses) for _, statuses in rows],
        }


def _details(policy_type: PolicyType) -> dict[str, Any]:
    package = policy_type.package
    return {
        'name': policy_type.name,
        'priority': policy_type.priority,
        'status': _statuses(policy_type),
        'package': f'{package.name} {package.version}' if package else None,
        'profile_types': policy_type.profile_types or 'any',
        'triggers': [f'{trigger.phase} {trigger.action}' for trigger in policy_type.triggers],
    }


def _statuses(policy_type: PolicyType) -> list[str]:
    statuses = policy_type.support_status.get(policy_type.name.rpartition('-')[2], [])
    return [f'{status.status} since {status.since}' for status in statuses]
