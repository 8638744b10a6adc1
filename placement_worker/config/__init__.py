"""The configuration of the worker: its options, and the checks of their values.

Only `worker`, `cmd` and `engines` read these options; other packages take values. It imports
`contract`, `errors` and `formats`. Read `options` first.
"""
