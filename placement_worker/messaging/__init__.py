"""The RPC server on RabbitMQ, the replies to casts, the queues, and the notifications.

It takes values instead of options, and imports `handlers`, `client` and `late_ack` beside what all
packages import. Read `rpc_server` first.
"""
