"""Find nodes whose status Senlin does not have; it is probably misspelled.

The contract allows any status because workers compare it with ERROR and WARNING only. A misspelled
one makes an unhealthy node healthy.
"""

import difflib

from placement_worker.contract.model import Cluster
from placement_worker.formats.text import listed, shortened
from placement_worker.handlers.request_warnings import KNOWN_STATUSES, meant_status


def describe_unknown(cluster: Cluster) -> str | None:
    """Return a sentence that names the unknown statuses of the nodes, or None.

    It omits those that resemble ERROR and WARNING, about which the worker warns.
    """
    unknown = dict.fromkeys(node.status for node in cluster.nodes)
    shown = [
        status
        for status in unknown
        if status and status not in KNOWN_STATUSES and not meant_status(shortened(status))
    ]
    if not shown:
        return None
    return (
        f'Unknown status of nodes: {listed(shown, _with_suggestion)}; only ERROR and WARNING are '
        f'unhealthy; the statuses of Senlin are {", ".join(KNOWN_STATUSES)}'
    )


def _with_suggestion(status: str) -> str:
    near = difflib.get_close_matches(shortened(status).upper(), KNOWN_STATUSES, n=1)
    return shortened(status) + (f' (did you mean {near[0]}?)' if near else '')
