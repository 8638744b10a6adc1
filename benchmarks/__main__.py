"""All benchmarks in one command; see README.rst in this folder."""

import argparse
import contextlib
import dataclasses
import importlib
import json
import logging
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.pairing import FULL, QUICK, Effort

PARTS = (
    'planning',
    'victims',
    'checking',
    'lines',
    'messaging',
    'slow_octavia',
    'memory',
    'idle',
    'startup',
)
LONG = ('scale',)
"""Parts that run only if they are named: ten minutes without a bar."""
WITHOUT_BARS = {'victims', 'slow_octavia', *LONG}


def main() -> int:
    """Run the selected parts, and return 1 if a bar is missed."""
    args = _arguments()
    logging.getLogger('oslo_messaging').setLevel(
        logging.CRITICAL
    )  # warns of many callers and of closed connections
    effort = dataclasses.replace(QUICK if args.quick else FULL, bars_only=args.bars)
    documents, bars = [], []
    with _busy_processors(args.busy):
        for number in range(1, args.runs + 1):
            print(f'run {number} of {args.runs}', file=sys.stderr)
            found = _run(args.parts or PARTS, effort)
            documents.append(results.document(found, _machine()))
            bars.append([bar for result in found.values() for bar in result.bars])
    table, all_met = results.verdict(bars)
    print(results.text(table))
    if args.json:
        args.json.write_text(json.dumps(documents, indent=2) + '\n')
    return 0 if all_met else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parser.add_argument(
        'parts',
        nargs='*',
        metavar='PART',
        help=f'of {", ".join(PARTS + LONG)}; default: all but {", ".join(LONG)}',
    )
    parser.add_argument('--bars', action='store_true', help='measure only what the bars need')
    parser.add_argument('--runs', type=int, default=1, help='repeat everything (default: 1)')
    parser.add_argument(
        '--busy', type=int, default=0, metavar='N', help='keep N processors busy meanwhile'
    )
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all results there, too')
    parser.add_argument(
        '--quick', action='store_true', help='fewer rounds and sizes: to see that it runs'
    )
    args = parser.parse_args()
    unknown = sorted(set(args.parts) - {*PARTS, *LONG})
    if unknown:
        parser.error(f'there is no part {", ".join(unknown)}; there are: {", ".join(PARTS + LONG)}')
    if args.runs < 1:
        parser.error('--runs must be at least 1')
    return args


@contextlib.contextmanager
def _busy_processors(count: int) -> Iterator[None]:
    """Let other processes compute without a pause."""
    spinning = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def _run(parts: Sequence[str], effort: Effort) -> dict[str, results.Result]:
    """Run the parts, and print their tables."""
    found: dict[str, results.Result] = {}
    for part in parts:
        if effort.bars_only and part in WITHOUT_BARS:
            continue
        print(f'{part}: load average {os.getloadavg()[0]:.1f}', file=sys.stderr)
        found[part] = importlib.import_module(f'benchmarks.{part}').run(effort)
        for table in found[part].tables:
            print(results.text(table), flush=True)
    return found


def _machine() -> dict[str, object]:
    return {
        'python': platform.python_version(),
        'system': platform.platform(),
        'cpus': len(os.sched_getaffinity(0)),
        'load_average': os.getloadavg(),
    }


if __name__ == '__main__':
    sys.exit(main())
