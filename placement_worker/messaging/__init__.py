"""The RPC server on RabbitMQ, and messages beside the replies to calls."""
