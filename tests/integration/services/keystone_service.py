"""Keystone: its database, keys and application."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keystone.conf
from keystone.cmd.bootstrap import Bootstrapper
from keystone.common import fernet_utils, sql
from keystone.common.sql import upgrades
from keystone.server import wsgi
from oslo_config import cfg

ACTIVE_KEYS = 3


def prepare(config: Path, url: str) -> None:
    keystone.conf.configure()
    sql.initialize()
    cfg.CONF(args=[], project='keystone', default_config_files=[str(config)])
    upgrades.offline_sync_database_to_version(None)
    for group in 'fernet_tokens', 'credential':
        keys = fernet_utils.FernetUtils(cfg.CONF[group].key_repository, ACTIVE_KEYS, group)
        keys.create_key_directory()
        keys.initialize_key_repository()
    _bootstrap(f'{url}/v3')


def _bootstrap(url: str) -> None:
    """Create the admin user and the catalog as `keystone-manage bootstrap` does."""
    bootstrapper = Bootstrapper()
    bootstrapper.admin_username = bootstrapper.project_name = bootstrapper.admin_role_name = 'admin'
    bootstrapper.admin_password = 'secret'
    bootstrapper.service_name = 'keystone'
    bootstrapper.public_url = bootstrapper.internal_url = bootstrapper.admin_url = url
    bootstrapper.region_id = 'RegionOne'
    bootstrapper.bootstrap()


def application(config: Path) -> Callable[..., Any]:
    os.environ['OS_KEYSTONE_CONFIG_FILES'] = str(config)
    return wsgi.initialize_public_application()
