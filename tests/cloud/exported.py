"""The request that `placement-policy export` makes, and its plan."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.cloud import installed
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
        request = _output(folder, 0, 'export', *options, *arguments)
        (folder / 'request.yaml').write_text(request)
        plan = _output(folder, 2, 'plan', '-f', 'json', '--cloud', 'cloud.yaml', 'request.yaml')
    return list(json.loads(plan)['places']['zones'])


def _output(folder: Path, status: int, *arguments: str) -> str:
    command = [installed.program('placement-policy'), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=installed.TIMEOUT_S,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout
