"""The combinations of listener, pool and health monitor that Octavia accepts.

Octavia refuses the others when it creates the objects, after a user has waited for the load
balancer. Policies therefore check a spec before, and the simulator refuses what Octavia refuses.
Each function returns the reason of a refusal, or None.

:source: octavia/common/constants.py (VALID_LISTENER_POOL_PROTOCOL_MAP),
    octavia/api/v2/controllers/health_monitor.py and octavia/api/v2/types/health_monitor.py of
    Octavia 19
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence

from placement_worker.formats.text import shortened

_PROXIES = ('PROXY', 'PROXYV2')
_POOLS: Mapping[str, Sequence[str]] = {
    'TCP': ('HTTP', 'HTTPS', *_PROXIES, 'TCP'),
    'HTTP': ('HTTP', *_PROXIES),
    'HTTPS': ('HTTPS', *_PROXIES, 'TCP'),
    'TERMINATED_HTTPS': ('HTTP', *_PROXIES),
    'UDP': ('UDP',),
    'SCTP': ('SCTP',),
    'PROMETHEUS': (),
}
_DATAGRAM_POOLS = ('UDP', 'SCTP')
_DATAGRAM_MONITORS = ('UDP-CONNECT', 'SCTP', 'TCP', 'HTTP')
_MONITORS = ('HTTP', 'HTTPS', 'PING', 'TCP', 'TLS-HELLO')
_CODES_LENGTH = 64  # of the column in Octavia's database, which fails with a longer value
_CODES = re.compile(r'(\d{3}(\s*,\s*\d{3})*)|(\d{3}-\d{3})')


def pool_refusal(listener: str, pool: str) -> str | None:
    pools = _POOLS[listener]
    if pool in pools:
        return None
    accepted = f'a pool of protocol {_either(pools)}' if pools else 'no pool'
    return f'A listener of protocol {listener} takes {accepted}, got `{pool}`'


def monitor_refusal(pool: str, monitor: str) -> str | None:
    monitors = _DATAGRAM_MONITORS if pool in _DATAGRAM_POOLS else _MONITORS
    if monitor in monitors:
        return None
    return (
        f'A pool of protocol {pool} takes a health monitor of type {_either(monitors)}, '
        f'got `{monitor}`'
    )


def codes_refusal(codes: str) -> str | None:
    if len(codes) > _CODES_LENGTH:
        return f'Expected at most {_CODES_LENGTH} characters, got {len(codes)}'
    if _CODES.fullmatch(codes):
        return None
    return f'Expected codes such as `200`, `200,202` or `200-204`, got `{codes}`'


def address_refusal(address: str, cidr: str | None = None) -> str | None:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return f'Expected an IP address, got `{shortened(address)}`'
    if cidr is not None and ip not in ipaddress.ip_network(cidr, strict=False):
        return f'Expected an IP address in {cidr}, got `{address}`'
    return None


def _either(names: Sequence[str]) -> str:
    *first, last = names
    return f'{", ".join(first)} or {last}' if first else last
