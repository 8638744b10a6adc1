"""Cordons: the zones and regions that an operator closes to new nodes until a time.

The file with the cordons is edited by the commands and followed by running workers. This package
may import `contract`, `errors`, `formats` and `planning`. Read `cordon_file` first.
"""
