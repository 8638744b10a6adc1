"""Ask the worker of each cloud for its policy types: python3 clouds.py URL CLOUD=TOPIC..."""

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
        types = client.get_capabilities().policy_types
        missing = {'senlin.policy.zone_placement-1.0'} - set(types)
        print(f'{cloud}: lacks {missing}' if missing else f'{cloud}: ready')
    except PlacementWorkerError as exc:
        print(f'{cloud}: {exc}')
    client.close()
