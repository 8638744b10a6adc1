"""The errors of Nova that mean that a place has no room for a new server.

An engine stores the error in ``status_reason`` of the node, mostly inside a sentence of its own.
"""

from collections.abc import Mapping

NOVA = 'https://opendev.org/openstack/nova/src/tag/34.0.0/nova'

PHRASES: Mapping[str, str] = {
    'no valid host was found': f'{NOVA}/exception.py#L1360',
    'novalidhost': f'{NOVA}/compute/utils.py#L80',
    'exceeded maximum number of retries': f'{NOVA}/exception.py#L1373',
    'insufficient compute resources': f'{NOVA}/exception.py#L578',
}
"""Phrase in lower case -> its source.

``NoValidHost``: the scheduler found no host. Its class name is the message where Nova cannot format
the text. ``MaxRetriesExceeded``, a NoValidHost: the build failed on each host that the scheduler
chose. ``ComputeResourcesUnavailable``: the chosen host was full.
"""
QUOTA = 'quota'
"""A quota limits the project in all places, so another place does not help.

:source: https://opendev.org/openstack/nova/src/tag/34.0.0/nova/exception.py#L1377
"""


def means_no_capacity(status_reason: str | None) -> bool:
    """Return whether the reason of a failed creation means that its place has no room."""
    text = (status_reason or '').lower()
    return QUOTA not in text and any(phrase in text for phrase in PHRASES)
