"""Statements for the databases of the cloud's services."""

from pathlib import Path
from typing import Any

import pymysql

from tests.integration import mariadb


def select(folder: Path, database: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Carry out a statement and return the rows that it finds.

    :param folder: that of the server.
    """
    socket = str(mariadb.socket_in(folder))
    opened = pymysql.connect(
        user='root',
        database=database,
        unix_socket=socket,
        autocommit=True,
        ssl_disabled=True,  # else PyMySQL 1.2.4 reads all certificates for each connection
    )
    with opened, opened.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
