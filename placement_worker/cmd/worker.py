"""The daemon's program."""

import sys

from placement_worker.cmd import threads


def main() -> int:
    """Serve until SIGTERM; the exit status says whether that went well."""
    threads.choose()
    from placement_worker import daemon  # noqa: PLC0415  # it imports oslo.messaging

    return daemon.run(sys.argv[1:])
