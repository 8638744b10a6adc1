"""The daemon's program."""

import sys

from placement_worker.cmd import threading_backend


def main() -> int:
    """Serve until SIGTERM; the exit status says whether that went well."""
    threading_backend.choose()
    from placement_worker.worker import process  # noqa: PLC0415  # it imports oslo.messaging

    return process.run(sys.argv[1:])
