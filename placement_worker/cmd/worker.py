"""The program `placement-worker`."""

import sys

from placement_worker.cmd import threading_backend


def main() -> int:
    """Serve until SIGTERM, and return the exit status."""
    threading_backend.choose()
    from placement_worker.worker import parent_process  # noqa: PLC0415  # slow: imports oslo.messaging

    return parent_process.run(sys.argv[1:])
