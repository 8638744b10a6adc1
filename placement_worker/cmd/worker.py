"""The daemon's program."""

import sys

from placement_worker.cmd import threads


def main() -> int:
    """Serve until SIGTERM; the exit status says whether that went well."""
    threads.choose()
    from placement_worker.worker import process  # noqa: PLC0415  # it imports oslo.messaging

    return process.run(sys.argv[1:])
