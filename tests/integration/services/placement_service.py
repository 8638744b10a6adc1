"""Placement: its tables and the application."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import own_folders
from oslo_config import cfg
from placement import conf, db_api, wsgi
from placement.db.sqlalchemy import migration


def prepare(config: Path, _url: str) -> None:
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options([], default_config_files=[str(config)])
    db_api.configure(options)
    migration.create_schema()


def application(config: Path) -> Callable[..., Any]:
    own_folders.provide(config, 'placement.conf', 'OS_PLACEMENT_CONFIG_DIR')
    return wsgi.init_application()
