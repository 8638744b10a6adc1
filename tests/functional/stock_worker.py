"""placement-worker with the stock server of oslo.messaging: the control that shows that the tests
can fail.
"""

import sys

from placement_worker.cmd import threading_backend

threading_backend.choose()

from oslo_messaging.rpc.server import RPCServer  # noqa: E402

from placement_worker.messaging import rpc_server  # noqa: E402
from placement_worker.worker import parent_process  # noqa: E402

rpc_server.late_ack_server = lambda *_, **__: RPCServer
sys.exit(parent_process.run(sys.argv[1:]))
