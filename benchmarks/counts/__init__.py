"""What a check costs, counted instead of timed: the same on every run, however busy the machine
is.
"""
