"""The programs placement-worker, placement-policy and placement-worker-status.

A command of placement-policy is a class in the module of its group, an entry point of setup.cfg,
and a summary in `cli`. The package may import every other one. A command runs often in scripts, so
only its own module is imported, and oslo.messaging only to reach workers or to read their options.

Read `base` first, then `request_files` and `targets`.
"""
