"""A listener that keeps events, and a clock for their durations."""

import itertools


class Events:
    def __init__(self):
        self.received = []

    def handle(self, event):
        self.received.append(event)

    def of(self, *types):
        return [event for event in self.received if isinstance(event, types)]


class SteppingClock:
    """A clock that advances by a second with each reading."""

    def __init__(self):
        self._readings = itertools.count()

    def __call__(self):
        return float(next(self._readings))
