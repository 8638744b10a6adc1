"""What makes Senlin's engine ask the worker: serialise, call, write back.

Nothing outside this package imports Senlin, and this package knows of the worker its client and the
contract alone.
"""
