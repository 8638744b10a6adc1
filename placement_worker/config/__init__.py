"""The configuration of the worker: its options, and the checks of their values.

Only `worker` and `cmd` read these options; other packages take values, and an engine has options of
its own. It imports `contract`, `errors` and `formats`. Read `options` first.
"""
