"""The health floor: how many members of a pool stay online while nodes leave it.

Without it, a scale-in could remove the only healthy members of a load balancer. A member that is
offline already counts for nothing, and can always leave.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from placement_worker.formats.text import counted, shortened

# The operating statuses of members that count as online. A member without a health monitor reports
# NO_MONITOR. DRAINING does not count: such a member has weight 0 and gets no new connections.
# DEGRADED is a status of pools and load balancers; it does not count either, nor do OFFLINE and
# ERROR. Sources: octavia_lib/common/constants.py of octavia-lib 3.12
# (SUPPORTED_OPERATING_STATUSES), and https://docs.openstack.org/api-ref/load-balancer/v2/
# (operating status codes)
NO_MONITOR = 'NO_MONITOR'
ONLINE = frozenset({'ONLINE', NO_MONITOR})


@dataclass(frozen=True, slots=True)
class Floor:
    """The health floor of one pool, before a removal.

    :ivar min_online: a number of members or a percentage of them, e.g. "75%".
    :ivar leaving: node id -> the number of online members that leave with the node.
    """

    pool_id: str
    min_online: int | str
    members: int
    online: int
    leaving: Mapping[str, int] = field(default_factory=dict)

    @property
    def required(self) -> int:
        if isinstance(self.min_online, int) or '%' not in self.min_online:
            return int(self.min_online)
        percentage = Fraction(self.min_online.rstrip('% '))
        return math.ceil(percentage * self.members / 100)

    @property
    def removable(self) -> int:
        return max(self.online - self.required, 0)

    @property
    def name(self) -> str:
        return f'health floor of pool {self.pool_id}'

    @property
    def details(self) -> dict[str, Any]:
        return {'members': self.members, 'online': self.online, 'required_online': self.required}

    def explained(self, requested: int, kept: int) -> str:
        nodes = (
            f'Only {kept} of {requested} nodes' if kept else f'None of {counted(requested, "node")}'
        )
        start = f'{nodes} can leave pool {shortened(self.pool_id)}'
        if self.required > self.members:  # never for a percentage
            return f'{start}: {self.required} members must stay online, but it has {self.members}'
        share = f' (min_online {self.min_online})' if '%' in str(self.min_online) else ''
        return (
            f'{start}: {self.required} of its {counted(self.members, "member")} must stay '
            f'online{share}, and {self.online} {"is" if self.online == 1 else "are"}'
        )


def kept(victims: Sequence[str], floors: Sequence[Floor]) -> list[str]:
    """A victim without an online member can always leave."""
    room = [floor.removable for floor in floors]
    leaving = []
    for victim in victims:
        online = [floor.leaving.get(victim, 0) for floor in floors]
        if all(count <= left for count, left in zip(online, room, strict=True)):
            room = [left - count for count, left in zip(online, room, strict=True)]
            leaving.append(victim)
    return leaving


def reached(victims: Sequence[str], floors: Sequence[Floor]) -> Floor | None:
    return next(
        (
            floor
            for floor in floors
            if sum(floor.leaving.get(victim, 0) for victim in victims) > floor.removable
        ),
        None,
    )
