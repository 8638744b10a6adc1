"""Count the costs of checks and compare them with bounds.json.

python -m benchmarks.counts            # status 1 if a count exceeds its bound
python -m benchmarks.counts --write    # make the counts the bounds, after an intended change
"""

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks.counts import calls, cloud_requests, imports, instructions
from benchmarks.counts.count import Count, verdict

BOUNDS = Path(__file__).with_name('bounds.json')
KINDS = (imports, cloud_requests, calls, instructions)


def main() -> int:
    """Count, then compare or write the bounds."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.counts', description=__doc__)
    parser.add_argument('--write', action='store_true', help='write the counts as the new bounds')
    write = parser.parse_args().write
    python = '.'.join(platform.python_version_tuple()[:2])
    written = json.loads(BOUNDS.read_text())
    if not write and written['python'] != python:
        print(
            f'{BOUNDS.name} is for Python {written["python"]}, this is {python}: counts differ',
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
    """Print each count; return 1 if one exceeds its bound or is missing."""
    wrong = 0
    for count in counts:
        problem = verdict(count, written)
        wrong += bool(problem)
        print(f'{"WRONG" if problem else "ok   "} {count.value:>10g}  {count.what} {problem}')
    missing = sorted(written.keys() - {count.what for count in counts})
    for what in missing:
        print(f'WRONG            {what} was not counted')
    return int(bool(wrong or missing))


if __name__ == '__main__':
    sys.exit(main())
