"""Ask until a worker replies: python3 retry.py URL FILE."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from placement_worker import errors
from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply

PAUSES_S = (2, 4)
EXPIRED = 'Request expired'


def check(client: Caller, request: Mapping[str, Any]) -> CheckReply:
    """Return the reply to a check; send the request again without a complete decision."""
    for pause_s in PAUSES_S:
        try:
            reply = client.policy_check(request)
            cause = reply.action.data['reason']
            if cause != EXPIRED:
                return reply
            # A real engine stores the changes here: some members may have left the pool.
        except errors.NoWorkerAnswered as exc:  # BrokerUnreachable is a subclass
            cause = str(exc)
        print(f'{cause}; next attempt in {pause_s} s')
        time.sleep(pause_s)
    return client.policy_check(request)


if __name__ == '__main__':
    url, file = sys.argv[1:]
    client = PolicyClient(url, timeout_s=30)
    try:
        data = check(client, yaml.safe_load(Path(file).read_text())).action.data
        print(data['status'], data['reason'])  # on ERROR the action fails with this reason
    except errors.Refused as exc:
        print('Correct the engine or the policy:', exc)
    except errors.NoWorkerAnswered as exc:
        print('The action fails; the user may try later:', exc)
    except errors.PlacementWorkerError as exc:
        print(f'The action fails; an operator looks into it: {type(exc).__name__}: {exc}')
    client.close()
