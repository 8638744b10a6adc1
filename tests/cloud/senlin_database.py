"""Senlin's database, which shows more than its REST API."""

import json
from pathlib import Path
from typing import Any

import pymysql

from tests.cloud.layout import SENLIN
from tests.cloud.nodes import Node
from tests.integration import mariadb

NODES = (
    'SELECT id, physical_id, status, status_reason, data FROM node WHERE cluster_id = %s '
    'ORDER BY `index`'
)
LOCKS = 'SELECT action_ids FROM cluster_lock WHERE cluster_id = %s'


def nodes_of(folder: Path, cluster_id: str) -> list[Node]:
    """Return the nodes of a cluster in the order of their indexes.

    :param folder: that of the server of the database.
    """
    rows = select(folder, NODES, cluster_id)
    return [Node(*row[:4], json.loads(row[4] or '{}')) for row in rows]


def is_locked(folder: Path, cluster_id: str) -> bool:
    """Return whether an action has locked a cluster."""
    return bool(select(folder, LOCKS, cluster_id))


def select(folder: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Return the rows that a statement finds."""
    database = pymysql.connect(
        user='root', database=SENLIN, unix_socket=str(mariadb.socket_in(folder))
    )
    with database, database.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
