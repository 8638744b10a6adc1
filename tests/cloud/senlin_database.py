"""Senlin's database, which shows more than its REST API."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cloud import sql
from tests.cloud.nodes import Node

NODES = (
    'SELECT id, physical_id, status, status_reason, data FROM node WHERE cluster_id = %s '
    'ORDER BY `index`'
)
EXPIRE = (
    "UPDATE service SET updated_at = updated_at - INTERVAL 1 HOUR WHERE `binary` = 'senlin-engine'"
)
FORGET = 'DELETE FROM credential'
LOCKS = 'SELECT action_ids FROM cluster_lock WHERE cluster_id = %s'
STATUS = 'SELECT status FROM action WHERE id = %s'


@dataclass(frozen=True)
class SenlinDatabase:
    """The database of a Senlin."""

    folder: Path
    """The folder of the server."""
    name: str

    def nodes_of(self, cluster_id: str) -> list[Node]:
        """Return the nodes of a cluster in the order of their indexes."""
        rows = self._select(NODES, cluster_id)
        return [Node(*row[:4], json.loads(row[4] or '{}')) for row in rows]

    def is_locked(self, cluster_id: str) -> bool:
        """Return whether an action has locked a cluster."""
        return bool(self._select(LOCKS, cluster_id))

    def status_of(self, action_id: str) -> str:
        """Return the status of an action."""
        [(status,)] = self._select(STATUS, action_id)
        return str(status)

    def expire_engines(self) -> None:
        """Let the next engine that starts end the actions of all engines, which were killed.

        Senlin waits for more than two minutes until it takes an engine for dead.
        """
        self._select(EXPIRE)

    def forget_trusts(self) -> None:
        """Let the next request of each user create a trust, or find one in Keystone."""
        self._select(FORGET)

    def _select(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return sql.select(self.folder, self.name, statement, *values)
