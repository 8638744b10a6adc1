"""The worker's endpoints over the running cloud, acting by trusts of plain users."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oslo_config import cfg

from placement_worker import config, daemon
from placement_worker.cloud.octavia import Driving
from placement_worker.policies.registry import Registry
from placement_worker.rpc.endpoints import Endpoints
from tests.integration import seeding
from tests.integration.cloud import Cloud

TEXT = """
[cloud]
backend = openstack
lookup_budget_s = 20
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


def endpoints(
    openstack: Cloud, folder: Path, driving: Callable[[], Driving] = lambda: Driving(poll_initial_s=0.1, poll_max_s=1)
) -> Endpoints:
    """What a worker with this configuration would answer with."""
    path = folder / 'placement-worker.conf'
    path.write_text(TEXT.format(auth_url=openstack.auth_url, password=seeding.PASSWORD))
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], default_config_files=[str(path)])
    return Endpoints(daemon.clouds(conf), Registry.installed(), driving=driving)


def project_of(openstack: Cloud, user: str = 'demo') -> str:
    return str(openstack.session(user).get_project_id())


def as_nodes(servers: list[Any], **more: Any) -> list[dict[str, Any]]:
    """Nodes of a cluster that say nothing of their servers but the id."""
    return [{'id': f'n-{server.name}', 'name': server.name, 'physical_id': server.id, **more} for server in servers]
