"""Clusters that carry out the same action at once, through Senlin's API."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.cloud import sql
from tests.cloud.layout import COMPUTES, SENLIN
from tests.cloud.senlin_api import ENDED
from tests.cloud.whole_cloud import WholeCloud

CALLERS = 8
LONGEST_S = 3600
LOOK_S = 1
ZONES = [{'name': zone} for zone in sorted(set(COMPUTES['RegionOne'].values()))]
POLICIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ('zone_placement', '1.0', {'zones': ZONES}),
    ('deletion', '1.1', {'criteria': 'OLDEST_FIRST'}),
)
"""Policies of versions that Senlin has without the plugin."""
ACTIONS = (
    'SELECT id, target, status, status_reason, start_time, end_time FROM action WHERE id IN %s'
)
CREATIONS = 'SELECT id FROM action WHERE target IN %s'
NODES = 'SELECT cluster_id, physical_id FROM node WHERE cluster_id IN %s'


@dataclass(frozen=True)
class Action:
    """An action that has succeeded; the times are those of Senlin's engine, in seconds."""

    id: str
    cluster: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Fleet:
    """Clusters that share a profile; each has policies of its own.

    Senlin 16 reads all bindings of a policy with the policy (`policy_model_query` in
    senlin/db/sqlalchemy/api.py), so that an action would take longer the more clusters share it.
    """

    def __init__(self, cloud: WholeCloud, size: int, **server: Any) -> None:
        """Create clusters without nodes, and attach the policies.

        :param server: properties of the profile.
        """
        self._cloud, self._senlin = cloud, cloud.senlin
        profile = self._senlin.create_profile(**server)
        clusters = [
            {'name': f'cluster-{number}', 'profile_id': profile, 'desired_capacity': 0}
            for number in range(size)
        ]
        made = [self._senlin.post('clusters', cluster=one)['cluster'] for one in clusters]
        self._ids = [one['id'] for one in made]
        self._succeeded([id_ for (id_,) in self._select(CREATIONS, self._ids)])
        for policy in POLICIES:
            self._succeeded(self._each(partial(self._attach, policy)))

    def change(self, name: str, **inputs: Any) -> list[Action]:
        """Carry out an action of each cluster at once; all must succeed."""
        return self._succeeded(self._each(lambda id_: self._begin(id_, name, **inputs)))

    def _attach(self, policy: tuple[str, str, dict[str, Any]], cluster: str) -> str:
        """Create a policy and begin to attach it; return the id of the action."""
        type_, version, properties = policy
        policy_id = self._senlin.create_policy(type_, version, **properties)
        return self._begin(cluster, 'policy_attach', policy_id=policy_id, enabled=True)

    def _begin(self, cluster: str, name: str, **inputs: Any) -> str:
        return self._senlin.begin(f'clusters/{cluster}', name, **inputs)

    def _each(self, call: Callable[[str], str]) -> list[str]:
        """Call a function with the id of each cluster, several at a time; return the results."""
        with ThreadPoolExecutor(CALLERS) as pool:
            return list(pool.map(call, self._ids))

    def zones(self) -> dict[str, list[str]]:
        """Return the zones of the servers in Nova by the id of the cluster."""
        servers = self._cloud.connect('demo').compute.servers()
        zone_of = {server.id: server.availability_zone for server in servers}
        found: dict[str, list[str]] = {id_: [] for id_ in self._ids}
        for cluster, server in self._select(NODES, self._ids):
            found[cluster].append(zone_of[server])
        return found

    def _succeeded(self, ids: list[str]) -> list[Action]:
        """Return actions when they have ended; all must have succeeded."""
        deadline = time.monotonic() + LONGEST_S
        while any(row[2] not in ENDED for row in self._select(ACTIONS, ids)):
            assert time.monotonic() < deadline, f'actions run for more than {LONGEST_S} s'
            time.sleep(LOOK_S)
        return list(self._checked(ids))

    def _checked(self, ids: list[str]) -> Iterator[Action]:
        for id_, cluster, status, reason, start, end in self._select(ACTIONS, ids):
            assert status == 'SUCCEEDED', f'action {id_} is {status}: {reason}'
            yield Action(id_, cluster, float(start), float(end))

    def _select(self, statement: str, ids: list[str]) -> list[tuple[Any, ...]]:
        return sql.select(self._cloud.folder, SENLIN, statement, ids)
