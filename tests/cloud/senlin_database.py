"""Senlin's database, which shows more than its REST API."""

import json
from pathlib import Path

from tests.cloud import sql
from tests.cloud.layout import SENLIN
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


def nodes_of(folder: Path, cluster_id: str) -> list[Node]:
    """Return the nodes of a cluster in the order of their indexes.

    :param folder: that of the server of the database.
    """
    rows = sql.select(folder, SENLIN, NODES, cluster_id)
    return [Node(*row[:4], json.loads(row[4] or '{}')) for row in rows]


def is_locked(folder: Path, cluster_id: str) -> bool:
    """Return whether an action has locked a cluster."""
    return bool(sql.select(folder, SENLIN, LOCKS, cluster_id))


def expire_engines(folder: Path) -> None:
    """Let the next engine that starts end the actions of all engines, which were killed.

    Senlin waits for more than two minutes until it takes an engine for dead.
    """
    sql.select(folder, SENLIN, EXPIRE)


def forget_trusts(folder: Path) -> None:
    """Let the next request of each user create a trust, or find one in Keystone."""
    sql.select(folder, SENLIN, FORGET)
