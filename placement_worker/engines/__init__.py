"""Integrations that run inside a cluster engine."""
