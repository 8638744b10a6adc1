"""Placement: its tables and the application."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    """Return the application, which reads the file `placement.conf` of a folder."""
    folder = config.with_suffix('')
    folder.mkdir()
    (folder / 'placement.conf').symlink_to(config)
    os.environ['OS_PLACEMENT_CONFIG_DIR'] = str(folder)
    return wsgi.init_application()
