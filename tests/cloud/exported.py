"""The request that `placement-policy export` makes, and its plan."""

import json
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.cloud import programs
from tests.cloud.compute_cloud import ComputeCloud
from tests.integration import seeding


def zones_planned(cloud: ComputeCloud, service: str, url: str, *arguments: str) -> list[Any]:
    """Export from an engine as `demo`, plan the file without edits, and return the zones."""
    auth = {
        'auth_url': cloud.auth_url, 'username': 'demo', 'password': seeding.PASSWORD,
        'project_name': 'demo', 'user_domain_id': 'default', 'project_domain_id': 'default',
    }  # fmt: skip
    engine = {f'{service}_endpoint_override': url, f'{service}_api_version': '1'}
    clouds = {'clouds': {'test': {'auth': auth, 'region_name': 'RegionOne', **engine}}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'clouds.yaml').write_text(yaml.safe_dump(clouds))
        options = ('--os-cloud', 'test', '--write-cloud', 'cloud.yaml')
        request = programs.run('placement-policy', 'export', *options, *arguments, folder=folder)
        (folder / 'request.yaml').write_text(request)
        options = ('-f', 'json', '--cloud', 'cloud.yaml', 'request.yaml')
        plan = programs.run('placement-policy', 'plan', *options, folder=folder, status=2)
    return list(json.loads(plan)['places']['zones'])
