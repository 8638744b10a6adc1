"""A cloud that a file describes, with a simulator of Octavia: for tests, trials and simulations.

It imports no library of a cloud. Read `inventory` first.
"""
