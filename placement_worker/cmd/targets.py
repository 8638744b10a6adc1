"""Who answers a command: the worker inside this process, over the embedded cloud, or running
workers.
"""

import argparse
import contextlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.caller import Caller
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

MAX_TIMEOUT_S = 24 * 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments by which a command chooses."""
    parser.add_argument(
        '--cloud',
        metavar='FILE',
        help='the embedded cloud (default: the shipped examples/cloud.yaml)',
    )
    add_remote_arguments(parser)


def add_remote_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that choose among running workers."""
    parser.set_defaults(cloud=None, server=None)
    parser.add_argument(
        '--transport', metavar='URL', help='ask running workers, e.g. rabbit://user:password@host/'
    )
    parser.add_argument(
        '--config-file', metavar='FILE', help='ask running workers; their transport_url and topics'
    )
    parser.add_argument(
        '--timeout',
        metavar='SECONDS',
        type=_seconds,
        help='how long a running worker may take; default: 60, and 600 where it may wait for a load balancer',
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < MAX_TIMEOUT_S:
        raise argparse.ArgumentTypeError(
            f'expected more than 0 and less than {MAX_TIMEOUT_S} seconds, got {text}'
        )
    return seconds


def on_shipped_cloud(args: argparse.Namespace, path: str) -> bool:
    """Whether a file of the user's own is answered over the cloud of the examples, as no other was
    named.
    """
    if args.cloud or args.transport is not None or args.config_file is not None:
        return False
    with resources.as_file(resources.files('placement_worker') / 'examples') as examples:
        shipped = () if path == '-' else examples.rglob(Path(path).name)  # a clone has them, too
        return not any(one.read_bytes() == Path(path).read_bytes() for one in shipped)


@contextlib.contextmanager
def by(args: argparse.Namespace) -> Iterator[Caller]:
    """The one that the arguments ask for.

    :raises InvalidInventory: the embedded cloud's file cannot be read.
    :raises ConfigurationError: the arguments, or what the configuration file says, do not fit.
    """
    if args.transport is None and args.config_file is None:
        with resources.as_file(
            resources.files('placement_worker') / 'examples' / 'cloud.yaml'
        ) as shipped:
            yield InProcessCaller(Inventory.load(args.cloud or str(shipped)), Registry.installed())
        return
    if args.cloud:
        raise errors.ConfigurationError(
            '--cloud describes an embedded cloud; running workers have one of their own'
        )
    # Only now: the messaging layer takes longer to import than a check takes.
    from placement_worker.cmd import threading_backend  # noqa: PLC0415

    threading_backend.choose()
    from placement_worker.cmd import remote  # noqa: PLC0415

    client = remote.client(args.transport, args.config_file, args.timeout, args.server)
    try:
        yield client
    finally:
        client.close()
