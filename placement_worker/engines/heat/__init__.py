"""The plugin of Heat's engine: an autoscaling group whose members the workers place.

No other package imports Heat, and here `group` alone: `plans` has the decisions without a worker,
`worker_choice` those by a worker. Read `group` first.
"""
