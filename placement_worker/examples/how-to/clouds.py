"""Ask the worker of each cloud for its state: python3 clouds.py URL CLOUD=TOPIC..."""

import sys

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.errors import PlacementWorkerError

url, *pairs = sys.argv[1:]
topics = dict(pair.split('=') for pair in pairs)
clients = {
    cloud: PolicyClient(url, topic=topic, slow_topic=f'{topic}-slow', timeout_s=30)
    for cloud, topic in topics.items()
}
for cloud, client in clients.items():
    try:
        worker = client.get_capabilities()
        print(f'{cloud}: version {worker.version}, {len(worker.policy_types)} policy types')
    except PlacementWorkerError as exc:
        print(f'{cloud}: {exc}')
    client.close()
