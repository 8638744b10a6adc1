"""An RPC server for oslo.messaging that acknowledges a request after its reply.

The stock server acknowledges a request before it handles it, so a process that is killed loses its
requests in flight. This server leaves a request with the broker until the reply is sent. If the
process crashes before, the broker delivers the request again. A request may therefore be handled
twice, but it is handled at least once. A request that crashes each process that handles it is
isolated, and parked for an operator.

The package serves any project: it imports oslo.messaging with its libraries, typing_extensions, and
nothing of placement-worker. Only it uses private names of oslo.messaging, and
`tests/unit/late_ack/test_oslo_messaging.py` fails when a release changes them. Read `server` first,
then `request` and `listener`; `poison` and `parking` are about requests that crash.
"""
