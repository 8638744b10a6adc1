"""Python's garbage collector, set for a service whose requests are trees, which are freed without it."""

import gc

FULL_EVERY = 50
"""How many collections of middle-aged objects make a full one; Python's 10 make several while a large request is in
work, each of which walks all of it."""


def settle() -> None:
    """Before serving: what is there now is walked no more, and shared with processes until somebody writes to it."""
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL_EVERY)
