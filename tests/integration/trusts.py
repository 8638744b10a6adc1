"""Endpoints of a worker for the test cloud, with trusts of plain users."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oslo_config import cfg

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.config import options
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry
from placement_worker.worker import factory
from tests.integration import seeding
from tests.integration.cloud import Cloud

TEXT = """
[cloud]
backend = openstack
{options}
[service_auth]
auth_type = password
auth_url = {auth_url}
username = placement-worker
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
region_name = RegionOne
"""


def configuration(openstack: Cloud, auth_url: str | None = None, **options: object) -> str:
    """Return a worker's configuration for the test cloud.

    :param auth_url: the URL of a proxy before Keystone.
    :param options: options of [cloud].
    """
    lines = '\n'.join(
        f'{name} = {value}' for name, value in {'lookup_budget_s': 60, **options}.items()
    )
    return TEXT.format(
        auth_url=auth_url or openstack.auth_url, password=seeding.PASSWORD, options=lines
    )


def endpoints(
    openstack: Cloud,
    folder: Path,
    octavia_settings: Callable[[], OctaviaSettings] = lambda: OctaviaSettings(
        poll_initial_s=0.1, poll_max_s=1
    ),
    **settings: Any,
) -> Endpoints:
    """Return the endpoints of a worker with this configuration; see `configuration`."""
    path = folder / 'placement-worker.conf'
    path.write_text(configuration(openstack, **settings))
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([], default_config_files=[str(path)])
    return Endpoints(
        factory.create_clouds(conf),
        Registry.installed(),
        WorkerSettings(octavia_settings=octavia_settings),
    )


def project_of(openstack: Cloud, user: str = 'demo') -> str:
    return str(openstack.session(user).get_project_id())


def as_nodes(servers: list[Any], **more: Any) -> list[dict[str, Any]]:
    """Return nodes that contain only the ids of their servers."""
    return [
        {'id': f'n-{server.name}', 'name': server.name, 'physical_id': server.id, **more}
        for server in servers
    ]
