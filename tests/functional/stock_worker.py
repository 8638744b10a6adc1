"""placement-worker with the stock server of oslo.messaging: the control that shows that the tests can fail."""

import sys

from placement_worker.cmd import threads

threads.choose()

from oslo_messaging.rpc.server import RPCServer  # noqa: E402

from placement_worker import daemon  # noqa: E402

daemon._server_class = lambda *_: RPCServer
sys.exit(daemon.run(sys.argv[1:]))
