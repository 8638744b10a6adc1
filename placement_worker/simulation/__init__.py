"""Simulations: scenarios played through the real chain on the embedded cloud, and their report.

Read `run` first, then `world` (what steps change), `engine` (who decides) and `steps`; `measures`,
`run_charts` and `report` show the result. Only `cmd` imports this package. It imports handlers,
policies, planning and the embedded cloud; no transport and no configuration.
"""
