"""The processes of the worker, and the factory of the objects that they use.

It may import every package but `cmd`, `simulation` and `engines`. Read `parent_process` first, then
`factory`.
"""
