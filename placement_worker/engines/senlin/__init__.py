"""The plugin of Senlin's engine: send requests to the workers, and write back their decisions.

No other package imports Senlin. `patches` is the entry point. Read `checks` first.
"""
