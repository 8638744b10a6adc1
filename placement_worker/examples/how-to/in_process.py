"""Decide the check of a file in this process: python3 in_process.py CLOUD FILE."""

import sys
from pathlib import Path

import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

cloud, file = sys.argv[1:]
worker = InProcessCaller(Inventory.load(cloud), Registry.installed())
reply = worker.policy_check(yaml.safe_load(Path(file).read_text()))
print(reply.action.data['status'], reply.action.data['reason'])
for decision in reply.decisions:
    print(decision.policy_type, decision.outcome, decision.reason)
