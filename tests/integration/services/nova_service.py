"""Nova: its three databases and the API; tests add zones and servers as rows."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'  # read when nova is imported

import nova_rows
import sqlalchemy
from nova import config as nova_config
from nova import context, objects
from nova.api.openstack import wsgi_app
from nova.db import migration
from nova.objects import host_mapping


def discover_hosts() -> list[str]:
    """Map the computes that have reported to the cell, and return all that are mapped."""
    admin = context.get_admin_context()
    host_mapping.discover_hosts(admin)
    return [mapping.host for mapping in objects.HostMappingList.get_all(admin)]


PASTE = Path(sys.prefix, 'etc', 'nova', 'api-paste.ini')
CONTROLS = {
    'add_zones': nova_rows.add_zones,
    'add_servers': nova_rows.add_servers,
    'set_zone': nova_rows.set_zone,
    'discover_hosts': discover_hosts,
}


def prepare(config: Path, _url: str) -> None:
    nova_config.parse_args(['nova', '--config-file', str(config)])
    objects.register_all()
    migration.db_sync(database='api')
    admin = context.get_admin_context()
    main = nova_config.CONF.database.connection
    cell0 = _map_cell(admin, objects.CellMapping.CELL0_UUID, 'cell0', cell0_url(main))
    cell1 = _map_cell(admin, nova_rows.CELL, 'cell1', main)
    for cell in cell0, cell1:
        with context.target_cell(admin, cell) as targeted:
            migration.db_sync(context=targeted)


def cell0_url(main: str) -> str:
    """Return the URL of the database of cell 0, which has the name of the main one and `-cell0`."""
    url = sqlalchemy.engine.make_url(main)
    return url.set(database=f'{url.database}-cell0').render_as_string(hide_password=False)


def _map_cell(admin: Any, uuid: str, name: str, database: str) -> Any:
    cell = objects.CellMapping(
        admin,
        uuid=uuid,
        name=name,
        transport_url=nova_config.CONF.transport_url,
        database_connection=database,
    )
    cell.create()
    return cell


def application(config: Path) -> Callable[..., Any]:
    os.environ['OS_NOVA_CONFIG_FILES'] = f'{PASTE};{config}'  # the order matters
    return wsgi_app.init_application('osapi_compute', 'nova-api')
