"""The RPC server on RabbitMQ, the replies to casts, the queues, and the notifications.

It takes values instead of options, and may import `handlers`, `client`, `late_ack` and `events`.
Read `rpc_server` first.
"""
