"""Validate the specs of files before they are saved: python3 validate.py URL FILE..."""

import sys
from pathlib import Path

import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.errors import CloudUnavailable, Refused

url, *files = sys.argv[1:]
client = PolicyClient(url)
for file in files:
    try:
        spec = client.policy_validate(yaml.safe_load(Path(file).read_text()), check_resources=True)
    except Refused as exc:
        print(f'{file}: refused: {exc}')
    except CloudUnavailable as exc:
        print(f'{file}: try again: {exc}')
    else:
        print(f'{file}: save {spec.type_name} with {spec.properties}')
client.close()
