"""Clouds whose calls pass through a hook, which measures, records or replays them.

It imports `cloud.ports` and no library of a cloud. Read `interceptor` first.
"""
