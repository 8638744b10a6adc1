"""Counted costs of checks: the same on every run, however busy the machine is."""
