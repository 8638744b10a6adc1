"""Tables of a service, created from its models; migrations take minutes, or need MariaDB."""

from typing import Any


def create(metadata: Any, engine: Any) -> None:
    """Create all tables; processes can read an sqlite file while one of them writes."""
    if engine.dialect.name == 'sqlite':
        connection = engine.raw_connection()
        connection.driver_connection.execute('PRAGMA journal_mode=WAL')
        connection.close()
    metadata.create_all(engine)
