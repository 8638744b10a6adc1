"""The health of the worker: whether its processes are alive, and ready for requests.

Read `watchdog` first. `probe` is what containers run every few seconds: it imports the standard
library alone. The package imports nothing of the others.
"""
