"""Liveness and readiness of worker processes."""
