"""The health of the worker: whether its processes are alive, and ready for requests.

It imports nothing of the other packages. Read `watchdog`.
"""
