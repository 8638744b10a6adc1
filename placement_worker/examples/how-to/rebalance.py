"""Rebalance a cluster by a worker's plan: python3 rebalance.py URL PLAN_ID FILE."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import yaml
from engine import TRUST, act, ask, scale

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import RebalanceStep


def create(worker: Caller, action_id: str, step: RebalanceStep, stored: Any) -> None:
    """Create the nodes of a step in the places of the plan, and let the worker add members."""
    placement = {'placements': msgspec.to_builtins(step.create)}
    action = {'id': action_id, 'action': 'CLUSTER_ADD_NODES', 'inputs': {}}
    action['data'] = {'placement': placement}
    act(action, stored['cluster'])
    ask(worker, 'AFTER', action, stored['cluster'], stored['policies'])


def delete(worker: Caller, action_id: str, step: RebalanceStep, stored: Any) -> None:
    """Let the worker remove the members of a step's nodes, and delete the nodes."""
    inputs = {'candidates': [node.id for node in step.delete]}
    action = {'id': action_id, 'action': 'CLUSTER_DEL_NODES', 'inputs': inputs}
    scale(worker, action, stored['cluster'], stored['policies'])


def rebalance(worker: Caller, plan_id: str, stored: Any) -> None:
    """Carry out a plan step by step; a failure ends it."""
    plan = worker.policy_rebalance(stored | {'credentials': TRUST})
    if plan.status == 'ERROR':
        raise SystemExit(plan.reason)
    for number, step in enumerate(plan.steps, 1):
        create(worker, f'{plan_id}-create-{number}', step, stored)
        delete(worker, f'{plan_id}-delete-{number}', step, stored)
        print(f'step {number}: deleted', *[f'{node.id} ({node.reason})' for node in step.delete])


if __name__ == '__main__':
    url, plan_id, file = sys.argv[1:]
    stored = yaml.safe_load(Path(file).read_text())
    rebalance(PolicyClient(url), plan_id, stored)
    for node in stored['cluster']['nodes']:
        print(node['id'], node['data']['placement']['zone'])
