"""The exchange, the topics and the version of the worker's RPC interface."""

EXCHANGE = 'placement_worker'
TOPIC = 'placement-worker'
SLOW_TOPIC = 'placement-worker-slow'
VERSION = '1.0'
