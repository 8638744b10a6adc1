"""Count what checks cost, and hold it to bounds.json.

python -m benchmarks.counts            # 1 if something is more than its bound
python -m benchmarks.counts --write    # the counts become the bounds, after a change that is meant
"""

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks.counts import (
    allocations,
    cloud_requests,
    frames,
    imports,
    instructions,
    module_switches,
)
from benchmarks.counts.count import Count, verdict

BOUNDS = Path(__file__).with_name('bounds.json')
KINDS = (imports, allocations, cloud_requests, module_switches, frames, instructions)


def main() -> int:
    """Count, then compare or write."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.counts', description=__doc__)
    parser.add_argument(
        '--write', action='store_true', help='write the counts down as the new bounds'
    )
    write = parser.parse_args().write
    python = '.'.join(platform.python_version_tuple()[:2])
    written = json.loads(BOUNDS.read_text())
    if not write and written['python'] != python:
        print(
            f'{BOUNDS.name} was counted on Python {written["python"]}, this is {python}: counts differ',
            file=sys.stderr,
        )
        return 2
    counts = [count for kind in KINDS for count in kind.counted()]
    if write:
        BOUNDS.write_text(
            json.dumps(
                {'python': python, 'counts': {one.what: one.value for one in counts}}, indent=2
            )
            + '\n'
        )
        return 0
    return _compare(counts, written['counts'])


def _compare(counts: list[Count], written: dict[str, float]) -> int:
    """Print a line a count; 1 if one is more than its bound, or was not counted."""
    wrong = 0
    for count in counts:
        told = verdict(count, written)
        wrong += bool(told)
        print(f'{"WRONG" if told else "ok   "} {count.value:>10g}  {count.what} {told}')
    missing = sorted(written.keys() - {count.what for count in counts})
    for what in missing:
        print(f'WRONG            {what} was not counted')
    return int(bool(wrong or missing))


if __name__ == '__main__':
    sys.exit(main())
