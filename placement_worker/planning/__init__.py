"""The planners: how many nodes go to or leave each place, which ones leave, and in what order.

All of it is pure: no I/O, clock, configuration or log. Besides the standard library and msgspec it
may import `contract`, `errors` and `formats`. Read `placement` first, then `apportionment`, on
which every count rests.
"""
