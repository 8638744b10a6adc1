"""Metrics for Prometheus: `prometheus` has them, and `setup` starts their export.

prometheus_client reads its environment when it is imported, so only `setup` may be imported before
the folder of the processes is chosen. Read `prometheus` first.
"""
