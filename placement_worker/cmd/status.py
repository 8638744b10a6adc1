"""The program `placement-worker-status`: probes of a worker, and the check before an upgrade."""

import argparse
import datetime
import sys

from placement_worker.cmd import argument_types
from placement_worker.health import probe

PROGRAM = 'placement-worker-status'
FAILED = 1
WRONG_ARGUMENTS = 2
PROBES = {'liveness': 'alive', 'readiness': 'ready'}
USAGE = f"""usage: {PROGRAM} liveness --file FILE [--max-age SECONDS]
       {PROGRAM} readiness --file FILE [--max-age SECONDS]
       {PROGRAM} [--config-file FILE] [--user USER] [--engine-file FILE]... upgrade check [--json]

liveness: check in the file of [worker] liveness_file that the worker on this machine is alive.
    Exit status: 0 alive, 1 not alive, 2 wrong arguments.
readiness: check in the same file that the worker is also connected to the broker.
    Exit status: as for liveness.
upgrade check: check that a worker of this version can start: values and names of options,
    permissions, timeouts, libraries, broker, exchange and queues.
    --user: the user whose permissions count if root runs the check; default: placement-worker if
        that user exists, else root.
    --engine-file: the configuration of an engine, such as /etc/heat/heat.conf. Check also that the
        user of [service_auth] is the trustee of the engine. The option can be repeated.
    Exit status: 0 the worker can start, 1 it can start, with warnings, 2 it cannot start,
        255 the check itself failed.
"""


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ('-h', '--help'):
        print(USAGE, end='')  # noqa: T201
        return 0
    if arguments[0] in PROBES:
        return _probe(*arguments)
    # A container runs probes often, so they must not wait for these imports and the next ones.
    from placement_worker.formats.text import nearest  # noqa: PLC0415

    near = nearest(arguments[0], PROBES)
    if near:
        return _refuse(f'Unknown command "{arguments[0]}". Did you mean "{near}"?')
    from placement_worker.cmd import threading_backend  # noqa: PLC0415

    threading_backend.choose()
    from placement_worker.cmd import upgrade  # noqa: PLC0415
    from placement_worker.config import validation  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    parser.add_argument('--user')
    parser.add_argument('--engine-file', action='append', default=[])
    args, others = parser.parse_known_args(arguments)
    wrong = validation.describe_wrong_arguments(PROGRAM, others, ['--json'])
    if wrong:
        return _refuse(wrong)
    late = _late_option(others)
    if late:
        return _refuse(f'Move {late} before "upgrade check"; run "{PROGRAM} --help" for the usage')
    return upgrade.run(others, args.user, args.engine_file)


def _late_option(arguments: list[str]) -> str | None:
    while arguments and arguments[:2] != ['upgrade', 'check']:
        arguments = arguments[1:]
    names = (argument.partition('=')[0] for argument in arguments[2:])
    return next((name for name in names if name in ('--config-file', '--config-dir')), None)


def _refuse(message: str) -> int:
    from placement_worker.formats.text import escaped  # noqa: PLC0415

    print(f'{PROGRAM}: {escaped(message)}', file=sys.stderr)  # noqa: T201
    return WRONG_ARGUMENTS


def _probe(name: str, *arguments: str) -> int:
    about = f'Check whether the worker is {PROBES[name]}.'
    parser = argparse.ArgumentParser(prog=f'{PROGRAM} {name}', description=about)
    parser.add_argument(
        '--file', metavar='FILE', required=True, help='the file of [worker] liveness_file'
    )
    parser.add_argument(
        '--max-age',
        metavar='SECONDS',
        type=argument_types.seconds,
        default=60,
        help='maximum age of the file; default: 60',
    )
    args = parser.parse_args(arguments)
    now = datetime.datetime.now(datetime.UTC)
    failure = probe.failure(args.file, args.max_age, now, ready=name == 'readiness')
    if failure is None:
        return 0
    print(f'{PROGRAM} {name}: {failure}', file=sys.stderr)  # noqa: T201
    return FAILED
