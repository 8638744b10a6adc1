"""The cause of a failed server in the reason of its node.

Senlin 16 waits for a new server with openstacksdk, whose error names the status ERROR without the
cause: "Server:ID transitioned to failure state ERROR". Senlin then deletes the server, and Nova's
`fault` with it. Placement policies need the cause, because it may be a lack of capacity.

:source: senlin/profiles/os/nova/server.py (`do_create`) of release 16; `wait_for_status` in
    openstack/resource.py of openstacksdk 4.
"""

import functools
import logging
from typing import Any

from senlin.common import exception

from placement_worker.engines.senlin.worker_client import is_configured

LOG = logging.getLogger(__name__)


def patched_wait(original: Any) -> Any:
    """Return `NovaClient.wait_for_server` with the cause in its error."""

    @functools.wraps(original)
    def wait_for_server(self: Any, server: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, server, *args, **kwargs)
        except exception.InternalError as exc:
            fault = _fault(self, server) if is_configured() else None
            if not fault:
                raise
            text = f'{str(exc).rstrip(".")}: {fault}'
            raise exception.InternalError(code=exc.code, message=text) from exc

    return wait_for_server


def _fault(client: Any, server_id: str) -> str | None:
    """Return the message of the server's fault, or None; an error must not hide the first one."""
    try:
        fault = client.conn.compute.get_server(server_id).fault
    except Exception as exc:
        LOG.warning('Cannot read the fault of server %s: %s', server_id, exc)
        return None
    message = fault.get('message') if isinstance(fault, dict) else None
    return message if isinstance(message, str) else None
