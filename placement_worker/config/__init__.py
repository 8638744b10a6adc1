"""The configuration of the worker: its options, and the checks of their values.

Only `worker`, `cmd` and `engines` read options; other packages take values. This package imports
`contract`, `errors` and `formats`. Read `options` first.
"""
