"""placement-worker-status: whether the worker is alive or ready, and whether it may be upgraded."""

import argparse
import datetime
import sys

from placement_worker.health import probe

PROGRAM = 'placement-worker-status'
FAILED = 1
PROBES = {'liveness': 'alive', 'readiness': 'ready'}
USAGE = f"""usage: {PROGRAM} liveness --file FILE [--max-age SECONDS]
       {PROGRAM} readiness --file FILE [--max-age SECONDS]
       {PROGRAM} [--config-file FILE] [--user USER] upgrade check [--json]

liveness: see in the file that [worker] liveness_file names whether the worker on this machine is alive.
    Exit status: 0 it is, 1 it is not, 2 wrong arguments.
readiness: check in the same file whether it is connected to the broker as well, and can take requests.
    Exit status: as for liveness.
upgrade check: see whether a worker of this version can start: configuration, broker, queues, libraries, time-outs.
    --user: whose permissions count if root runs it; default: placement-worker if there is such a user, else root.
    Exit status: 0 it can, 1 it can but look at the warnings, 2 it cannot, 255 the check itself failed.
"""


def main() -> int:
    """Run the command that the arguments name; the exit status is the command's."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ('-h', '--help'):
        print(USAGE, end='')  # noqa: T201
        return 0
    if arguments[0] in PROBES:
        return _probe(*arguments)
    # Only now: a probe of a container runs often, and needs none of this.
    from placement_worker.cmd import threading_backend  # noqa: PLC0415

    threading_backend.choose()
    from placement_worker.cmd import upgrade  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    parser.add_argument('--user')
    args, others = parser.parse_known_args(arguments)
    return upgrade.run(PROGRAM, others, user=args.user)


def _probe(name: str, *arguments: str) -> int:
    """Return 0 if the file is fresh and says so; else print one line with the reason."""
    about = f'Check whether the worker is {PROBES[name]}.'
    parser = argparse.ArgumentParser(prog=f'{PROGRAM} {name}', description=about)
    parser.add_argument(
        '--file', metavar='FILE', required=True, help='what [worker] liveness_file names'
    )
    parser.add_argument(
        '--max-age',
        metavar='SECONDS',
        type=_seconds,
        default=60,
        help='how old the file may be; default: 60',
    )
    args = parser.parse_args(arguments)
    now = datetime.datetime.now(datetime.UTC)
    failure = probe.failure(args.file, args.max_age, now, ready=name == 'readiness')
    if failure is None:
        return 0
    print(f'{PROGRAM} {name}: {failure}', file=sys.stderr)  # noqa: T201
    return FAILED


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float('inf'):
        raise argparse.ArgumentTypeError(f'expected more than 0 seconds, got {text}')
    return seconds
