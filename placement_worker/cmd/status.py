"""The program `placement-worker-status`: probes of a worker, and the check before an upgrade.

A container runs a probe every few seconds, which must not wait for other imports than these.
"""

import datetime
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from placement_worker.cmd import argument_types

PROGRAM = 'placement-worker-status'
FAILED = 1
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
    # A probe must not wait for these imports.
    from placement_worker.cmd import threading_backend  # noqa: PLC0415

    threading_backend.choose()
    from placement_worker.cmd import upgrade  # noqa: PLC0415

    parser = ArgumentParser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    parser.add_argument('--user')
    parser.add_argument('--engine-file', action='append', default=[])
    args, others = parser.parse_known_args(arguments)
    return upgrade.run(others, args.user, args.engine_file)


def _probe(name: str, *arguments: str) -> int:
    about = f'Check whether the worker is {PROBES[name]}.'
    parser = ArgumentParser(prog=f'{PROGRAM} {name}', description=about)
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
    reason = probe_failure(args.file, args.max_age, now, ready=name == 'readiness')
    if reason is None:
        return 0
    print(f'{PROGRAM} {name}: {reason}', file=sys.stderr)  # noqa: T201
    return FAILED


def probe_failure(
    file: str, max_age_s: float, now: datetime.datetime, *, ready: bool = False
) -> str | None:
    """Return the reason why the worker of a liveness file is not alive or not ready, or None.

    :param max_age_s: the greatest age of the file in seconds. A file from as far in the future
        fails as well: the clock was set back.
    """
    try:
        with open(file, encoding='utf-8') as opened:
            state = json.load(opened)
        age_s = (now - datetime.datetime.fromisoformat(state['checked_at'])).total_seconds()
        unmet = next(_unmet(state, ready), None)
    except FileNotFoundError as exc:
        return (
            f'{file}: {exc.strerror}: placement-worker is not running or has not reached its '
            'broker yet, or its [worker] liveness_file names another file'
        )
    except OSError as exc:
        return f'{file}: {exc.strerror}; name a readable file, that of [worker] liveness_file'
    except (ValueError, KeyError, TypeError, AttributeError):
        return f'{file} is not a liveness file of placement-worker'
    if age_s < -max_age_s:
        return f'{file} has a time {-age_s:.0f} s in the future; check the clock of this host'
    if age_s > max_age_s:
        return f'{file} was written {age_s:.0f} s ago (limit {max_age_s:g} s)'
    return unmet


def _unmet(state: Mapping[str, Any], ready: bool) -> Iterator[str]:
    questions = [('alive', 'reasons'), ('ready', 'missing')]
    for name, key in questions[: 1 + ready]:
        reasons = '; '.join(state.get(key, []))
        if state[name] is not True:
            yield f'The worker is not {name}: {reasons or "no reason given"}'
