"""The parts of a load balancer, and the tags that mark them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placement_worker.cloud.ports import Resource


def tags_of(cluster_id: str, policy_id: str) -> list[str]:
    """Return the tags of all objects that a policy creates for a cluster."""
    return [f'placement-worker:cluster={cluster_id}', f'placement-worker:policy={policy_id}']


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts to create: bodies of Octavia's API without links, tags and names.

    Octavia's default applies to a value of None.
    """

    name: str
    tags: Sequence[str]
    load_balancer: Mapping[str, Any]
    listener: Mapping[str, Any]
    pool: Mapping[str, Any]
    monitor: Mapping[str, Any] | None

    def marked(self, body: Mapping[str, Any]) -> Resource:
        """Return a body with name and tags, without values of None."""
        given = {key: value for key, value in body.items() if value is not None}
        return {**given, 'name': self.name, 'tags': list(self.tags)}

    def nested(self) -> Resource:
        """Return the body of a load balancer that contains all parts."""
        pool = self.marked(self.pool)
        if self.monitor is not None:
            pool['healthmonitor'] = self.marked(self.monitor)
        listener = {**self.marked(self.listener), 'default_pool': pool}
        return {**self.marked(self.load_balancer), 'listeners': [listener]}


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """The ids of a complete load balancer and its parts.

    :ivar found_at: when it was found or created, by the clock of the Octavia settings.
    """

    id: str
    listener: str | None
    pool: str
    monitor: str | None
    vip_address: str | None
    found_at: float = 0
