"""Glance: its tables and the application; images are files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import databases
import own_folders
from glance.common import wsgi_app
from glance.db.sqlalchemy import api, models, models_metadef
from oslo_config import cfg


def prepare(config: Path, _url: str) -> None:
    cfg.CONF([], project='glance', default_config_files=[str(config)])
    for part in 'images', 'staging':
        config.parents[1].joinpath(config.stem, part).mkdir(parents=True)
    for base in models.BASE, models_metadef.BASE_DICT:
        databases.create(base.metadata, api.get_engine())


def application(config: Path) -> Callable[..., Any]:
    own_folders.provide(config, 'glance-api.conf', 'OS_GLANCE_CONFIG_DIR')
    return wsgi_app.init_app()
