"""Nova: its three databases and the API; tests add zones and servers as rows."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'  # read when nova is imported

import nova_rows
from nova import config as nova_config
from nova import context, objects
from nova.api.openstack import wsgi_app
from nova.db import migration

PASTE = Path(sys.prefix, 'etc', 'nova', 'api-paste.ini')
CONTROLS = {
    'add_zones': nova_rows.add_zones,
    'add_servers': nova_rows.add_servers,
    'set_zone': nova_rows.set_zone,
}


def prepare(config: Path, _url: str) -> None:
    nova_config.parse_args(['nova', '--config-file', str(config)])
    objects.register_all()
    migration.db_sync(database='api')
    admin = context.get_admin_context()
    cell0 = _map_cell(admin, objects.CellMapping.CELL0_UUID, 'cell0')
    cell1 = _map_cell(admin, nova_rows.CELL, 'cell1')
    for cell in cell0, cell1:
        with context.target_cell(admin, cell) as targeted:
            migration.db_sync(context=targeted)


def _map_cell(admin: Any, uuid: str, name: str) -> Any:
    main = nova_config.CONF.database.connection
    connection = main.replace('cell1', name)
    cell = objects.CellMapping(
        admin, uuid=uuid, name=name, transport_url='fake://', database_connection=connection
    )
    cell.create()
    return cell


def application(config: Path) -> Callable[..., Any]:
    os.environ['OS_NOVA_CONFIG_FILES'] = f'{PASTE};{config}'  # the order matters
    return wsgi_app.init_application('osapi_compute', 'nova-api')
