"""The errors of OpenStack that mean that a place has no room for a new server.

An engine stores the error in ``status_reason`` of the node, mostly inside a sentence of its own.
The table of quota errors exists because a quota limits the project in all places: nodes would leave
a place that has room. The word "quota" alone proves nothing, since images and hosts have such
names.
"""

from collections.abc import Mapping

NOVA = 'https://opendev.org/openstack/nova/src/tag/34.0.0/nova'
NEUTRON = 'https://opendev.org/openstack/neutron-lib/src/tag/5.0.1/neutron_lib'
CINDER = 'https://opendev.org/openstack/cinder/src/tag/29.0.0/cinder'
OSLO_LIMIT = 'https://opendev.org/openstack/oslo.limit/src/tag/2.12.0/oslo_limit'

# Phrase in lower case -> its source. NoValidHost: the scheduler found no host. Its class name is
# the message where Nova cannot format the text. MaxRetriesExceeded, a NoValidHost: the build failed
# on each host that the scheduler chose. ComputeResourcesUnavailable: the chosen host was full.
PHRASES: Mapping[str, str] = {
    'no valid host was found': f'{NOVA}/exception.py#L1360',
    'novalidhost': f'{NOVA}/compute/utils.py#L80',
    'exceeded maximum number of retries': f'{NOVA}/exception.py#L1373',
    'insufficient compute resources': f'{NOVA}/exception.py#L578',
}
# Phrase in lower case -> its source. The first two are those of Nova and Cinder, too.
QUOTA_PHRASES: Mapping[str, str] = {
    'quota exceeded': f'{NEUTRON}/exceptions/__init__.py#L441',
    'overquota': f'{NEUTRON}/exceptions/__init__.py#L433',
    'maximum number of floating ips exceeded': f'{NOVA}/exception.py#L1389',
    'maximum number of security groups or rules exceeded': f'{NOVA}/exception.py#L1413',
    'maximum number of ports exceeded': f'{NOVA}/exception.py#L1417',
    'is over a limit for': f'{OSLO_LIMIT}/exception.py#L39',
    'requested volume or snapshot exceeds allowed': f'{CINDER}/exception.py#L622',
    'is larger than maximum allowed limit': f'{CINDER}/exception.py#L633',
    'maximum number of volumes allowed': f'{CINDER}/exception.py#L644',
    'maximum number of snapshots allowed': f'{CINDER}/exception.py#L653',
    'unexpected over quota on': f'{CINDER}/exception.py#L657',
}


def means_no_capacity(status_reason: str | None) -> bool:
    """Return whether the reason of a failed creation means that its place has no room."""
    text = (status_reason or '').lower()
    return _has_any(PHRASES, text) and not _has_any(QUOTA_PHRASES, text)


def _has_any(phrases: Mapping[str, str], text: str) -> bool:
    return any(phrase in text for phrase in phrases)
