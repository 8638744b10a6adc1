"""Simulations: scenarios played through the real chain on the embedded cloud, and their report.

Read `run` first, which plays the steps, then `engine` (the decisions) and `world` (the cluster and
the cloud). `history` and `measures` sum up a run, `greedy` is the rule to compare with, and
`run_charts` and `report` show the result. Only `cmd` imports this package. It imports
handlers, policies, planning and the embedded cloud; no transport and no configuration.
"""
