"""The target of a command: a worker inside this process, or running workers."""

import contextlib
import functools
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import ModuleType

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import argument_types
from placement_worker.contract.caller import Caller
from placement_worker.cordons.live_cordons import LiveCordons
from placement_worker.formats.documents import Source
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

MAX_TIMEOUT_S = 24 * 3600
_EXAMPLES = resources.files('placement_worker') / 'examples'


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        '--cloud',
        metavar='FILE',
        help='the embedded cloud; default: the shipped examples/cloud.yaml',
    )
    parser.add_argument(
        '--cordon-file', metavar='FILE', help='cordons for the embedded cloud; default: no cordons'
    )
    add_remote_arguments(parser)


def add_remote_arguments(
    parser: ArgumentParser, timeout: str = '60, or 600 with load balancers'
) -> None:
    parser.set_defaults(cloud=None, cordon_file=None, server=None)
    add_broker_arguments(parser)
    parser.add_argument(
        '--timeout',
        metavar='SECONDS',
        type=functools.partial(argument_types.seconds, below=MAX_TIMEOUT_S),
        help=f'time limit for a running worker; default: {timeout}',
    )


def add_broker_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        '--transport',
        metavar='URL',
        help='URL of the broker of running workers, e.g. rabbit://user:password@host/',
    )
    parser.add_argument(
        '--config-file',
        metavar='FILE',
        help='configuration of the operators, with transport_url and topics of running workers',
    )


def add_server_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        '--server', metavar='HOST', help='the [worker] host of one worker; default: any worker'
    )


def require_broker(args: Namespace, command: str) -> None:
    if args.transport is None and args.config_file is None:
        raise errors.ConfigurationError(
            'Name the running workers with --transport or --config-file; no file is read by '
            f'default; run "placement-policy {command} --help" for the usage'
        )


def uses_shipped_cloud(args: Namespace, source: Source) -> bool:
    """Return whether a file that is not a shipped example is decided over the shipped cloud."""
    if args.cloud or args.transport is not None or args.config_file is not None:
        return False
    with resources.as_file(_EXAMPLES) as examples:
        # A clone has copies of the examples.
        shipped = examples.rglob(Path(source.name).name)
        return not any(file.read_text(encoding='utf-8') == source.text for file in shipped)


def messaging() -> ModuleType:
    """Import oslo.messaging, which takes longer than a check, and what uses it."""
    from placement_worker.cmd import threading_backend  # noqa: PLC0415

    threading_backend.choose()
    from placement_worker.cmd import remote  # noqa: PLC0415

    return remote


@contextlib.contextmanager
def open_caller(args: Namespace) -> Iterator[Caller]:
    if args.transport is None and args.config_file is None:
        if args.server:
            raise errors.ConfigurationError(
                '--server names a running worker; add --transport or --config-file'
            )
        with resources.as_file(_EXAMPLES / 'cloud.yaml') as default:
            cordons = LiveCordons(args.cordon_file).in_force if args.cordon_file else None
            cloud = Inventory.load(args.cloud or str(default))
        registry = Registry.installed()
        registry.exact = True
        yield InProcessCaller(cloud, registry, cordons=cordons)
        return
    if args.cloud:
        raise errors.ConfigurationError(
            '--cloud describes an embedded cloud; omit it for running workers'
        )
    if args.cordon_file:
        raise errors.ConfigurationError(
            '--cordon-file is for an embedded cloud; running workers use [placement] cordon_file'
        )
    client = messaging().client(args, args.timeout)
    with contextlib.closing(client):
        yield client
