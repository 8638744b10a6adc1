"""An RPC server that acknowledges a request after its reply, so that a crash loses no request.

The stock server of oslo.messaging acknowledges a request before it handles it, so a process that is
killed loses its requests in flight. This server leaves a request with the broker until the reply
is sent. If the process crashes before, the broker delivers the request again. A request may
therefore be handled twice, but it is handled at least once.

No other package uses private names of oslo.messaging, and `tests/unit/messaging/late_ack` fails
when a release changes them. They provide a listening connection with a consumer per queue (of the
topic, and of this server alone), message objects that can reply, and the adapter that has the
polling thread.

Only one thread at a time uses the connection, as kombu requires. The polling thread lends it to the
others while it waits for input, so most acknowledgements are sent by the thread that handled the
request. While the polling thread is busy, the others queue their acknowledgements and wake it. It
also reconnects: `consume` of oslo.messaging gives up when its timeout ends, before it has tried
every host.
"""

from placement_worker.messaging.late_ack.server import LateAckServer, heartbeat, requests_in_flight

__all__ = ['LateAckServer', 'heartbeat', 'requests_in_flight']
