"""Neutron: its tables and the application, without agents."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import databases
from neutron import server
from neutron.db.migration.models import head
from neutron.server import api
from neutron_lib.db import api as db_api
from oslo_config import cfg
from oslo_db import options


def prepare(config: Path, _url: str) -> None:
    """Create all tables from the models, as Neutron's own tests do.

    The migrations of Neutron do not support sqlite.
    """
    cfg.CONF.register_opts(options.database_opts, 'database')
    cfg.CONF(args=[], default_config_files=[str(config)])
    databases.create(head.get_metadata(), db_api.get_context_manager().writer.get_engine())


def application(config: Path) -> Callable[..., Any]:
    os.environ['OS_NEUTRON_CONFIG_FILES'] = str(config)
    return server.boot_server(api.api_server, prog='neutron-api')
