"""The plugin of Senlin's engine: send requests to the workers, and write back their decisions.

No other package imports Senlin. `endpoint` is the entry point, which installs the `patches`. Read
`checks` first.
"""
