"""Metrics for Prometheus.

prometheus_client reads its environment when it is imported, so a worker imports `prometheus` after
the folder of its processes is chosen: see `create_exporter` of `worker.factory`.
"""
