"""The worker's messages: what it answers, how it is reached, and how to call it."""

EXCHANGE = 'placement_worker'
TOPIC = 'placement-worker'
SLOW_TOPIC = 'placement-worker-slow'
VERSION = '1.0'
