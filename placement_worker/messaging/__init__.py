"""The RPC server on RabbitMQ, the replies to casts, and the notifications."""
