"""Print the phases in which a worker must be asked: python3 when_to_ask.py URL FILE CAUSE."""

import sys
from pathlib import Path
from typing import Any

import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import PolicyType, Spec

HOOKED = 'Derived Action with Lifecycle Hook'
DELETING = ('CLUSTER_DEL_NODES', 'CLUSTER_REPLACE_NODES', 'NODE_DELETE')


def phases(action: str, cause: str, policies: list[Any], types: list[PolicyType]) -> list[str]:
    """Return the phases in which a policy of the cluster decides about the action."""
    if cause == 'Derived Action' and action.startswith('NODE_'):
        return []  # the policies have decided about the action that this one is a part of
    specs = [one['spec'] for one in policies if one.get('enabled', True)]
    bound = {Spec(spec['type'], spec['version']).type_name for spec in specs}
    triggers = [trigger for one in types if one.name in bound for trigger in one.triggers]
    deciding = {trigger.phase for trigger in triggers if trigger.action == action}
    if action in DELETING and any(name.endswith('_placement-1.1') for name in bound):
        deciding.add('BEFORE')  # records the failures of the deleted nodes
    return sorted(deciding - ({'AFTER'} if cause == HOOKED else set()), reverse=True)


if __name__ == '__main__':
    url, file, cause = sys.argv[1:]
    policies = yaml.safe_load(Path(file).read_text())['policies']
    types = PolicyClient(url).policy_type_list()
    for action in sorted({trigger.action for one in types for trigger in one.triggers}):
        if asked := phases(action, cause, policies, types):
            print(f'{action}:', ', '.join(asked))
