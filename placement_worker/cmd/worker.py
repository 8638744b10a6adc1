"""The daemon's program."""

import sys

from oslo_service import backend


def main() -> int:
    """Serve until SIGTERM; the exit status says whether that went well."""
    # Before oslo.messaging is imported, which takes eventlet otherwise.
    backend.init_backend(backend.BackendType.THREADING)
    from placement_worker import daemon  # noqa: PLC0415

    return daemon.run(sys.argv[1:])
