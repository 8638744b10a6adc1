"""The garbage collector of a worker."""

import subprocess
import sys

SETTLED = 'import gc; from placement_worker.worker import garbage_collection; garbage_collection.settle(); '


def in_a_process(program):
    done = subprocess.run(
        [sys.executable, '-c', SETTLED + program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_is_there_before_serving_is_walked_no_more():
    assert in_a_process('print(len(gc.get_objects()))') == '0'


def test_a_large_request_in_work_is_not_walked_again_and_again():
    full = in_a_process(
        'before = gc.get_stats()[2]["collections"]; request = [{"data": {}} for _ in range(100_000)]; '
        'print(gc.get_stats()[2]["collections"] - before)'
    )

    assert full == '0'
