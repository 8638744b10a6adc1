"""The program `placement-worker`."""

import sys

INTERRUPTED = 130  # the exit status after Ctrl-C, as of a shell


def main() -> int:
    try:  # the imports take a second
        from placement_worker.cmd import threading_backend  # noqa: PLC0415

        threading_backend.choose()
        from placement_worker.worker import parent_process  # noqa: PLC0415
    except KeyboardInterrupt:
        return INTERRUPTED
    return parent_process.run(sys.argv[1:])
