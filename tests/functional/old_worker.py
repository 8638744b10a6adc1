"""placement-worker that announces version 1.0 of the contract, as older workers do."""

import sys

from placement_worker.cmd import threading_backend

threading_backend.choose()

import oslo_messaging  # noqa: E402

from placement_worker.messaging import rpc_server  # noqa: E402
from placement_worker.worker import parent_process  # noqa: E402

rpc_server.ExposedEndpoints.target = oslo_messaging.Target(version='1.0')
del rpc_server.ExposedEndpoints.policy_rebalance
sys.exit(parent_process.run(sys.argv[1:]))
