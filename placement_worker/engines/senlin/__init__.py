"""The plugin of Senlin's engine: send requests to the workers, and write back their decisions.

No other package imports Senlin, and this package imports only the client and the contract of the
worker.
"""
