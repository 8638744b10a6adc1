"""placement-worker with the stock server of oslo.messaging: the control that shows that the tests
can fail.
"""

import sys

from placement_worker.cmd import threading_backend

threading_backend.choose()

from oslo_messaging.rpc.server import RPCServer  # noqa: E402

from placement_worker.worker import process  # noqa: E402

process._server_class = lambda *_: RPCServer
sys.exit(process.run(sys.argv[1:]))
