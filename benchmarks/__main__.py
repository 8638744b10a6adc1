"""All benchmarks in one command; see README.rst in this folder."""

import argparse
import importlib
import json
import logging
import os
import platform
import sys
from pathlib import Path

from benchmarks import results
from benchmarks.pairing import FULL, QUICK

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


def main() -> int:
    """Run the selected parts, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parser.add_argument(
        'parts', nargs='*', metavar='PART', help=f'of {", ".join(PARTS)}; default: all'
    )
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all results there, too')
    parser.add_argument(
        '--quick', action='store_true', help='fewer rounds and sizes: to see that it runs'
    )
    args = parser.parse_args()
    unknown = sorted(set(args.parts) - set(PARTS))
    if unknown:
        parser.error(f'there is no part {", ".join(unknown)}; there are: {", ".join(PARTS)}')
    logging.getLogger('oslo_messaging').setLevel(
        logging.CRITICAL
    )  # warns of many callers and of closed connections
    found: dict[str, results.Result] = {}
    for part in args.parts or PARTS:
        print(f'{part}: load average {os.getloadavg()[0]:.1f}', file=sys.stderr)
        found[part] = importlib.import_module(f'benchmarks.{part}').run(
            QUICK if args.quick else FULL
        )
        for table in found[part].tables:
            print(results.text(table), flush=True)
    bars = [bar for result in found.values() for bar in result.bars]
    print(results.bars_text(bars))
    if args.json:
        args.json.write_text(json.dumps(results.document(found, _machine()), indent=2) + '\n')
    return 0 if all(bar.met for bar in bars) else 1


def _machine() -> dict[str, object]:
    return {
        'python': platform.python_version(),
        'system': platform.platform(),
        'cpus': len(os.sched_getaffinity(0)),
        'load_average': os.getloadavg(),
    }


if __name__ == '__main__':
    sys.exit(main())
