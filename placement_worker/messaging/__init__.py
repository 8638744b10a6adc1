"""The RPC server on RabbitMQ, the replies to casts, the queues, and the notifications.

It takes values instead of options. Besides `contract` and `errors` it imports `handlers`, `client`,
`late_ack`, `events` and `cloud.ports`. Read `rpc_server` first.
"""
