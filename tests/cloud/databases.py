"""The databases of the cloud's services, which show more than their REST APIs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from tests.integration import mariadb

Json = dict[str, Any]


@dataclass(frozen=True)
class Node:
    """A node in Senlin's database."""

    id: str
    physical_id: str
    status: str
    status_reason: str
    data: Json

    @property
    def region(self) -> str:
        """The region of the server, where the plugin has recorded one."""
        return str(self.data.get('server_region', 'RegionOne'))

    @property
    def placement(self) -> Json:
        return dict(self.data.get('placement') or {})


@dataclass(frozen=True)
class Database:
    """A database of the server in the folder."""

    folder: Path
    name: str

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        opened = pymysql.connect(
            user='root',
            database=self.name,
            unix_socket=str(mariadb.socket_in(self.folder)),
            autocommit=True,
            ssl_disabled=True,  # else PyMySQL 1.2.4 reads all certificates for each connection
        )
        with opened, opened.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())


class SenlinDatabase(Database):
    def nodes_of(self, cluster_id: str) -> list[Node]:
        """Return the nodes of a cluster in the order of their indexes."""
        rows = self.execute(
            'SELECT id, physical_id, status, status_reason, data FROM node WHERE cluster_id = %s '
            'ORDER BY `index`',
            cluster_id,
        )
        return [Node(*row[:4], json.loads(row[4] or '{}')) for row in rows]

    def is_locked(self, cluster_id: str) -> bool:
        statement = 'SELECT action_ids FROM cluster_lock WHERE cluster_id = %s'
        return bool(self.execute(statement, cluster_id))

    def status_of(self, action_id: str) -> str:
        [(status,)] = self.execute('SELECT status FROM action WHERE id = %s', action_id)
        return str(status)

    def expire_engines(self) -> None:
        """Let the next engine that starts end the actions of all engines, which were killed.

        Senlin waits for more than two minutes until it takes an engine for dead.
        """
        self.execute(
            'UPDATE service SET updated_at = updated_at - INTERVAL 1 HOUR '
            "WHERE `binary` = 'senlin-engine'"
        )

    def forget_trusts(self) -> None:
        """Let the next request of each user create a trust, or find one in Keystone."""
        self.execute('DELETE FROM credential')
