"""Neutron: its tables and the application, without agents."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy
from neutron import server
from neutron.db.migration.models import head
from neutron.server import api
from oslo_config import cfg
from oslo_db import options


def prepare(config: Path, _url: str) -> None:
    """Create all tables from the models, as Neutron's own tests do.

    The migrations of Neutron do not support sqlite.
    """
    cfg.CONF.register_opts(options.database_opts, 'database')
    cfg.CONF(args=[], default_config_files=[str(config)])
    url = sqlalchemy.engine.make_url(cfg.CONF.database.connection)
    with sqlite3.connect(url.database) as database:
        database.execute('PRAGMA journal_mode=WAL')
    head.get_metadata().create_all(sqlalchemy.create_engine(url))


def application(config: Path) -> Callable[..., Any]:
    os.environ['OS_NEUTRON_CONFIG_FILES'] = str(config)
    return server.boot_server(api.api_server, prog='neutron-api')
